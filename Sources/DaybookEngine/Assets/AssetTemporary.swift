/// A name among the contents that somebody holds: an ingest that has not ended, or a copy that was handed out.
///
/// As many are held as a transaction has contents, so those of an ingest share the folder that their holder has open.
package struct AssetTemporary: Sendable {
  let holder: AssetHolder
  package let folder: any DiskFolder
  package let name: String
  package var path: String { folder.place(name) }
}
