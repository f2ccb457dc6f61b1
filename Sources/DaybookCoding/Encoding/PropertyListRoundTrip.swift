#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the system's property lists write and do not read back, found in the dry run before one is written.
///
///     value                         as XML                             in the binary form
///     a date with a fraction        the second before it               as it is
///     a year without four digits    another date, or as it is          as it is
///     the text $null                reads as nil                       reads as nil
///     the key CF$UID                reads as no dictionary             as it is
///
/// All of these are refused, with the path to the value.
extension JSONSlotEncoder {
  func checkText(_ text: String) throws {
    // By bytes: to compare texts Swift sorts the marks of a letter.
    guard slot.form != .json, text.utf8.elementsEqual("$null".utf8) else { return }
    throw refusal("A property list reads the text $null as nil: the format json can hold it.")
  }

  func checkDate(_ date: Date) throws {
    guard slot.form == .xmlPropertyList else { return }
    let seconds = date.timeIntervalSinceReferenceDate
    if seconds.rounded(.down) == seconds, ISODate.text(of: date) != nil { return }
    throw refusal(
      "A property list as XML has whole seconds, in years of four digits: the binary form and the format json have every date.")
  }

  /// - Parameter name: that of the member which this is.
  func checkName(_ name: String) {
    guard slot.form == .xmlPropertyList, name.utf8.elementsEqual("CF$UID".utf8) else { return }
    scope.fail(refusal("A property list as XML cannot hold the key CF$UID: the binary form and the format json can."))
  }

  private func refusal(_ sentence: String) -> RecordCodingError {
    RecordCodingError(.unsupportedValue, sentence, path: pathTexts(step))
  }
}
