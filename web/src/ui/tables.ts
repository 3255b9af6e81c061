/** The first rows of a text in which separators stand between values, as RFC 4180 has it. */

export interface Table {
  rows: string[][];
  isCut: boolean;
}

export function table(text: string, separator: string, most: number): Table {
  const rows: string[][] = [];
  let row: string[] = [];
  let value = "";
  let isQuoted = false;
  for (let at = 0; at < text.length && rows.length < most; at += 1) {
    const sign = text[at]!;
    if (isQuoted) {
      if (sign !== '"') value += sign;
      else if (text[at + 1] === '"') value += text[++at];
      else isQuoted = false;
    } else if (sign === '"' && value === "") isQuoted = true;
    else if (sign === separator) [row, value] = [[...row, value], ""];
    else if (sign === "\n") {
      rows.push([...row, value.replace(/\r$/, "")]);
      [row, value] = [[], ""];
    } else value += sign;
  }
  if (rows.length < most && (row.length > 0 || value !== "")) rows.push([...row, value]);
  return { rows, isCut: rows.length === most };
}
