/** Colours of a terminal as pieces of text; every other thing that a terminal understands is left out. */

export interface Piece {
  text: string;
  tone: string;
}

const TONES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// colours and weight end in m; the rest moves a cursor that is not here, sets a title, or is no text at all
const CODES = /\u001b\[([0-9;:]*)m|\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\^_]?|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]/g;

const HAS_CODES = /[\u0000-\u0008\u000b-\u001f\u007f]/;

export function plain(line: string): string {
  return HAS_CODES.test(line) ? line.replace(CODES, "") : line;
}

export function pieces(line: string): Piece[] {
  const found: Piece[] = [];
  let tone = "";
  let isBold = false;
  let start = 0;
  const keep = (text: string) => {
    if (text) found.push({ text, tone: [tone, isBold ? "bold" : ""].filter(Boolean).join(" ") });
  };
  for (const match of line.matchAll(CODES)) {
    keep(line.slice(start, match.index));
    start = match.index + match[0].length;
    if (match[1] === undefined) continue;
    for (const code of match[1].split(/[;:]/).map(Number)) {
      if (code === 0) [tone, isBold] = ["", false];
      else if (code === 1) isBold = true;
      else if (code === 22) isBold = false;
      else if (code === 39) tone = "";
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) tone = TONES[code % 10]!;
    }
  }
  keep(line.slice(start));
  return found;
}
