/// Why a reading ended: the asset's fault, or its reader's.
package enum AssetReading<Failure: Error>: Error {
  case fault(AssetFault)
  case caller(Failure)
}
