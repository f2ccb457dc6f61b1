import DaybookEngine
import DaybookTesting
import Testing

private func hexadecimal(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef")
  return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}

private func digest(_ bytes: [UInt8]) -> String {
  // Safe: the view ends with the closure.
  unsafe bytes.withUnsafeBytes { hexadecimal(PortableSHA256.digest(of: unsafe ByteView($0))) }
}

/// The messages whose digests are written down below.
private func message(_ byteCount: Int) -> [UInt8] {
  (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 256 * 13 + 1) }
}

@Suite("SHA-256")
struct SHA256Tests {
  @Test(
    "the published vectors (FIPS 180-4 and its examples)",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
    ])
  func published(text: String, expected: String) {
    #expect(digest(Array(text.utf8)) == expected)
  }

  @Test("a million times the letter a")
  func million() {
    let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    #expect(digest([UInt8](repeating: 0x61, count: 1_000_000)) == expected)
  }

  /// Made with coreutils' sha256sum: around the ends of blocks, and around the place where the length needs a new one.
  static let known: [(byteCount: Int, digest: String)] = [
    (1, "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"),
    (2, "9e6282e4f25e370ce617e21d6fe265e88b9e7b8682cf00059b9d128d9381f09d"),
    (31, "f47d790dd576502108aa0536f0ff49ef0ad7d6fdb69c7894f9f3cdd58736523a"),
    (32, "8c731c199b130cb096cae9129de0680c61e60606ed5c3ba72ebac58ad6af6df3"),
    (33, "473311950ad9d61883dae98aa25d2939bb366f6023d8ccb33c8da3168e64c639"),
    (54, "5556be1c204be4be0266d24d065b006343ecd327c0adbc0c98db3a359eb7a9b6"),
    (55, "16fa57a0a3423a715d594516339f36189d6b5f93754a9714fef202616a9fabfe"),
    (56, "c37b44e5f1b18554b36966f4f8e08bfbf3164c4b6c10374d12d89850892073c5"),
    (57, "12b234922502022f755ab8550a3d4e202ad39c81d961a4f59ec39d5fd83d15a7"),
    (62, "93bd1e900ea389c9c8144424f2f83a5a4dbcb7c1bbe5cda4d940f66ec4de80d3"),
    (63, "bbba992d2c85af960fb2987a1fd05e0aa82a3db3c740dd8982a9e273b75e36a3"),
    (64, "66bd4633ed6f71c4ecfa4763bf7ba1c8ec7612de9aa6c0578a7b675207c71e0b"),
    (65, "9f7dc47107b750a1f3d35db5d9547f24ef40da5b731b9540d4f43710a154f6c9"),
    (66, "2be1a5764bd98d01a729b13d558ceec2d382f649783369983de4f7dde2854ad9"),
    (118, "d63612beb497b3917ef96ba278b6eff6652f0ece634a810366f905b3a5f3c732"),
    (119, "a3ed307b730fa77c07531300c6e4a282330011d4d4caf6bb7b63ae05950f4b66"),
    (120, "8e3b15d9fea7472655aa069620b7f8c2e55ee1499f763200a7515fe826e99d20"),
    (121, "a8320d9736c8a5a7445c87c4d18c0da2fa8fb3b323ed8318c724a5b3e230f87b"),
    (127, "44480fb9672845177f5368a08b69ea263275f2a5ec42e06a933370fe0d2968a4"),
    (128, "e462c130fef8c97e34f7dc3ff3ad2f8b3533ab849af21c10531552a2852387a4"),
    (129, "aa7ea4e8bf89146aeb67ff195fd8182a0e504c9d580aa7af8d2c862e14b98405"),
    (191, "e178e4fce2c0d598509e5ed3e690528cc2ede24d9a2b8455f816a946675753d9"),
    (192, "411640aea1d04e916054d601386a094a0a4a9007cf2e23f5a25d216b8cead28b"),
    (193, "bdd64b5c968375920a076956d032aaa414117477ab06f8dcba93a2afdd4ddb48"),
    (255, "182f75213f6ff0cfeb7c3ac4cb7692c4e431e900c02f7d974f3fcd05dc3023f6"),
    (256, "2d7f580fd47106545e24f104f1eef10e75818a87473ffe9a43ac698a39dde7f2"),
    (257, "09b68be9bae3518fa7d6fbcf1a276f02ba6ea5a177e3fdb4fc152e9cc75c29b0"),
    (511, "0a75c093bbf1f0f6c79f3149d20bae7e7b54721d792e1e6e747af4b81520f893"),
    (512, "d230c76eb3945bb7b565c6b3129acbebbb87a9292889730050d07f860a63d655"),
    (513, "6fef80ef54a956960a9c95e6b31493f7d72c608394f742e892389037c8d0a9fc"),
    (1000, "0d8b6bf8a19b8ddd129e2842d1386fdf91a9c7c450f1800e7652d0c8f91982e5"),
    (4096, "232306f85ff3c105561e3ee42c047266bf8d58d9a8de768886f1eaca09491bf3"),
    (65_537, "ce17c3d3b0c0a389948c37ab8b23f3f3cbab44196c822edc84608169b9dd9f6b"),
    (1_000_003, "5dbe602cb148d4d23a23801e55f5f8c7181cb7059db9d69f4f834a4a12622b98"),
  ]

  @Test("digests of many lengths that sha256sum computed")
  func manyLengths() {
    for (byteCount, expected) in Self.known { #expect(digest(message(byteCount)) == expected, "\(byteCount) bytes") }
  }

  @Test("the pieces that a message arrives in do not matter", arguments: 0..<20 as Range<UInt64>)
  func pieces(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for (byteCount, expected) in Self.known where byteCount < 10_000 {
      let bytes = message(byteCount)
      var hash = PortableSHA256()
      var position = 0
      while position < byteCount {
        let most = [1, 3, 64, 200].randomElement(using: &generator) ?? 1
        let count = min(byteCount - position, Int.random(in: 0...most, using: &generator))
        // Safe: the view ends with the closure.
        unsafe bytes[position..<position + count].withUnsafeBytes { hash.update(unsafe ByteView($0)) }
        position += count
      }
      #expect(hexadecimal(hash.finish()) == expected, "\(byteCount) bytes")
    }
  }

  @Test("a digest may be asked for on the way")
  func asksOnTheWay() {
    let bytes = message(128)
    var hash = PortableSHA256()
    for index in bytes.indices {
      // Safe: the view ends with the closure.
      unsafe bytes[index...index].withUnsafeBytes { hash.update(unsafe ByteView($0)) }
      #expect(hexadecimal(hash.finish()) == digest(Array(bytes[...index])))
    }
  }
}
