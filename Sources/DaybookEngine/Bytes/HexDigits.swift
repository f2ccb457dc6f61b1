/// A number as sixteen hexadecimal digits, as it is written in names of files.
package func hexDigits(_ number: UInt64) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}
