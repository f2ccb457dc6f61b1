/// A small file as people have them: keys with spaces and reserved ones, kinds mixed in one key, nulls, lists, nesting,
/// names that no record can have, texts in many scripts. Of our own making.
enum DirtyFilms {
  static let json = """
    [
      {"Title": "Amélie", "parent": "none", "US Gross": 33225499, "US_Gross": "about 33 M", "Rating": 8.3, "Seen": true,
       "Released": "Apr 25 2001", "Tags": ["romance", "Paris"], "Cast": {"lead": "Audrey Tautou", "age": 24}},
      {"Title": 1776, "parent": null, "US Gross": null, "Rating": 7, "Seen": false, "Released": "Nov 17 1972", "Tags": []},
      {"Title": "e\\u0301tude", "Rating": null, "Released": null, "Tags": ["short"], "Votes": 9007199254740993},
      {"Title": "", "Rating": 5.25, "Votes": 12, "Cast": ["nobody", null]},
      {"Title": "_hidden", "Rating": 6, "Tags": null},
      {"Title": "كفرناحوم", "Rating": 8, "Seen": 1, "Released": "Sep 20 2018"},
      {"Title": "Amélie", "Rating": 8.4, "emoji 👨‍👩‍👧‍👦": "👍🏽"},
      {"Rating": 1.5, "Scores": [1, 2.5], "Matrix": [[1], [2]]}
    ]
    """
  static let rowCount = 8
}
