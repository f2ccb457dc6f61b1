@testable import DaybookEngine
import Testing

@Suite("The checksum")
struct ChecksumTests {
  static let prime64: UInt64 = 0x9e37_79b1_85eb_ca8d

  /// The buffer that xxHash's own sanity test fills.
  private let sanity: ByteBuffer = {
    let buffer = ByteBuffer(capacity: 8192)
    var generator: UInt64 = 2_654_435_761
    for _ in 0..<8192 {
      buffer.append(UInt8(generator >> 56))
      generator = generator &* prime64
    }
    return buffer
  }()

  /// From xxHash's sanity test: byte count, seed, hash.
  static let published: [(Int, UInt64, UInt64)] = [
    (0, 0, 0x2d06_8005_38d3_94c2), (0, prime64, 0xa8a6_b918_b2f0_364a),
    (1, 0, 0xc44b_dff4_074e_ecdb), (1, prime64, 0x032b_e332_dd76_6ef8),
    (6, 0, 0x27b5_6a84_cd2d_7325), (6, prime64, 0x8458_9c11_6ab5_9ab9),
    (12, 0, 0xa713_daf0_dfbb_77e7), (12, prime64, 0xe730_3e1b_2336_de0e),
    (24, 0, 0xa3fe_70bf_9d35_10eb), (24, prime64, 0x850e_80fc_35bd_d690),
    (48, 0, 0x397d_a259_ecba_1f11), (48, prime64, 0xadc2_cbaa_44ac_c616),
    (80, 0, 0xbcde_fbbb_2c47_c90a), (80, prime64, 0xc6dd_0cb6_9953_2e73),
    (195, 0, 0xcd94_217e_e362_ec3a), (195, prime64, 0xba68_003d_370c_b3d9),
    (403, 0, 0xcdeb_804d_65c6_dea4), (403, prime64, 0x6259_f6ec_fd64_43fd),
    (512, 0, 0x617e_4959_9013_cb6b), (512, prime64, 0x3ce4_57de_14c2_7708),
    (2048, 0, 0xdd59_e2c3_a5f0_38e0), (2048, prime64, 0x66f8_1670_669a_babc),
    (2099, 0, 0xc6b9_d9b3_fc9a_c765), (2099, prime64, 0x184f_3168_4366_3974),
    (2240, 0, 0x6e73_a905_39cf_2948), (2240, prime64, 0x757b_a848_7d1b_5247),
    (2367, 0, 0xcb37_aeb9_e5d3_61ed), (2367, prime64, 0xd2db_3415_b942_b42a),
  ]

  @Test("the vectors that xxHash publishes", arguments: published)
  func publishedVectors(byteCount: Int, seed: UInt64, expected: UInt64) {
    #expect(XXH3.vectorHash(sanity.view.prefix(byteCount), seed: seed) == expected)
    #expect(PlainXXH3.hash(sanity.view.prefix(byteCount), seed: seed) == expected)
  }

  /// From the reference library, over the same buffer, where one way of hashing ends and the next begins.
  static let boundaries: [(Int, UInt64)] = [
    (3, 0x0c7f_04b1_a84c_e3e8), (4, 0xf5df_3df4_5b43_3e94), (8, 0x8453_1d63_fb76_c322),
    (9, 0x31ec_a8c6_83a7_f8c2), (16, 0x2f8b_0b2e_0728_c278), (17, 0x66a0_ba80_086f_be02),
    (32, 0xeaa7_e3bf_f94a_e519), (33, 0x261a_c1f5_9272_f1c4), (64, 0x5cdf_daa9_bc97_0ca2),
    (65, 0xda1e_0ca7_6547_b97e), (96, 0xd629_e0f6_eb8a_18d3), (97, 0xb34a_37a6_402d_3421),
    (128, 0x2fcf_e585_c642_3639), (129, 0xc88b_1f2b_dd0c_d726), (144, 0x4312_27e4_77cd_65cf),
    (240, 0x60f4_8d88_1f8c_1048), (241, 0x2ac4_ed7d_6ba8_6d75), (1024, 0xceba_7eca_5d82_a8cd),
    (1025, 0xde8a_557d_0151_cd51), (4096, 0x82fe_5429_2aa6_756e),
  ]

  @Test("the reference library's results at the ends of the length classes", arguments: boundaries)
  func classBoundaries(byteCount: Int, expected: UInt64) {
    #expect(XXH3.vectorHash(sanity.view.prefix(byteCount), seed: 0xfedc_ba98_7654_3210) == expected)
    #expect(PlainXXH3.hash(sanity.view.prefix(byteCount), seed: 0xfedc_ba98_7654_3210) == expected)
  }

  /// From the reference library: seed, and the hashes of all lengths 0 ... 1100 folded into one number.
  static let everyLength: [(UInt64, UInt64)] = [
    (0, 0xb4c9_8c4c_6e6f_8713),
    (1, 0x7434_eef5_a1d7_403a),
    (0x9e37_79b1_85eb_ca8d, 0x3e83_0718_c29e_fc25),
    (0xffff_ffff_ffff_ffff, 0x81a2_2cb9_3359_f8ce),
  ]

  @Test("every length up to 1100 bytes, at any alignment, agrees with the reference library", arguments: everyLength)
  func allLengths(seed: UInt64, expected: UInt64) {
    var sum: UInt64 = 0
    var plain: UInt64 = 0
    for byteCount in 0...1100 {
      let start = byteCount % 7
      sum = sum &* 31 ^ XXH3.vectorHash(sanity.view.slice(start..<start + byteCount), seed: seed)
      plain = plain &* 31 ^ PlainXXH3.hash(sanity.view.slice(start..<start + byteCount), seed: seed)
    }
    #expect(sum == expected && plain == expected)
  }

  @Test("a flipped bit, and another seed, change the hash", arguments: [1, 4, 9, 17, 150, 241, 4096])
  func flipped(byteCount: Int) {
    let buffer = ByteBuffer(capacity: byteCount)
    buffer.append(sanity.view.prefix(byteCount))
    let original = XXH3.hash(buffer.view, seed: 1)
    #expect(XXH3.hash(buffer.view, seed: 2) != original)
    for offset in 0..<byteCount {
      var bytes = buffer.view.array
      bytes[offset] ^= 0x10
      let flipped = ByteBuffer(capacity: byteCount)
      flipped.append(bytes)
      #expect(XXH3.hash(flipped.view, seed: 1) != original)
    }
  }

  @Test("bytes that come piece by piece have the hash of the whole")
  func pieces() {
    let buffer = ByteBuffer(capacity: 20_000)
    while buffer.count < 20_000 { buffer.append(sanity.view.prefix(min(sanity.count, 20_000 - buffer.count))) }
    let lengths =
      Array(0...300) + Array(4000...4200) + Array(stride(from: 4090, to: 20_000, by: 61)) + [8192, 8193, 9216, 9217]
    for byteCount in lengths {
      let bytes = buffer.view.prefix(byteCount)
      let sum = XXH3.hash(byteCount: byteCount, seed: 7) { range in
        #expect(range.count <= XXH3.pieceByteCount)
        return bytes.slice(range)
      }
      #expect(sum == XXH3.hash(bytes, seed: 7), "\(byteCount) bytes")
    }
    #expect(XXH3.hash(byteCount: 9000, seed: 7) { $0.lowerBound < 4096 ? buffer.view.slice($0) : nil } == nil)
  }
}
