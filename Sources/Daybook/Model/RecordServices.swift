/// What a record needs from the database it was read from: where assets are, and the cipher.
package final class RecordServices: Sendable {
  /// The asset files.
  package let assets: AssetLibrary?
  /// Seals and opens encrypted values; nil stores them as they are.
  let sealer: FieldSealer?

  package init(assets: AssetLibrary? = nil, cipher: (any FieldCipher)? = nil, acceptsUnsealedValues: Bool = false) {
    self.assets = assets
    sealer = cipher.map { FieldSealer(cipher: $0, acceptsUnsealed: acceptsUnsealedValues) }
  }
}
