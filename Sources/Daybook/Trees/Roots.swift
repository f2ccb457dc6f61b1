/// How records lie in the engine's trees. Written down in FORMAT.md §6.
///
///     root 0  catalog            zone key                      → roots of the zone's trees, state of the zone
///     root 1  zones by sequence  u64 sequence, zone key        → (nothing)
///     root 2  metadata           key of the application        → place of the operation that set it
///     root 3  lineages           u64 first sequence            → u64 lineage
///     root 4  settings           "horizon"                     → u64 sequence
///                                "requires"                    → u64 features for reading, u64 for writing
///     root 5  schema             type, 0, key                  → u32 kinds
///     root 6  declarations       u16 number, u8 piece          → a piece of a declaration
///
///     zone 0  by name            record name                   → place, ordinal, sequence
///     zone 1  change journal     type, 0, u64 sequence, u32 ordinal → place, whether deleted
///     zone 2  tombstones         record name                   → u64 sequence, u32 ordinal
///     zone 3  by target          target, 0, u8 kind, source    → (nothing)
///     zone 4  assets             SHA-256, u64 size             → u64 how often live records name it
///     zone 5  indexes            u16 number, value, name       → (nothing)
///
/// Numbers in keys are big-endian, so that they sort; numbers in values little-endian. A record has one entry in the
/// change journal, at its latest sequence. The change journal holds the place of the body rather than the record's name: twelve bytes
/// instead of up to 255, and a page of changes costs no search by name. It is the list of the records of each type, too
/// (`ChangeKey`), so that no save touches a second random leaf.
enum Roots {
  static let catalog = 0
  static let zonesBySequence = 1
  static let metadata = 2
  static let lineages = 3
  static let settings = 4
  static let schema = 5
  static let declarations = 6
}
