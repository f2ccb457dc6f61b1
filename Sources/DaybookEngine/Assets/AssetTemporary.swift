/// A name among the contents that is in use: of an ingest under way, or of a copy that was handed out.
///
/// A transaction may hold many of them, so those of its ingests share the folder that their holder has open.
package struct AssetTemporary: Sendable {
  let holder: AssetHolder
  package let folder: any DiskFolder
  package let name: String
  package var path: String { folder.place(name) }
}
