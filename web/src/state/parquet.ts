/** Reads the beginning of a Parquet file: its footer, and of the first row group no more bytes than are worth it. */
import { parquetMetadataAsync, parquetReadObjects, parquetSchema, type AsyncBuffer, type Compressors, type FileMetaData } from "hyparquet";
import type { Column, Rows, Told, Wanted } from "./rows";

const ROWS = 20;
const MOST_COLUMNS = 60;
/** Of the parts of columns, before they are unpacked; the footer comes besides. */
const MOST_BYTES = 24 * 1024 * 1024;
const MOST_FOOTER = 16 * 1024 * 1024;
const LONGEST = 200;

self.onmessage = async ({ data }: MessageEvent<Wanted>) => {
  try {
    tell({ rows: await read(data) });
  } catch (error) {
    tell({ reason: (error as Error).message });
  }
};

function tell(told: Told): void {
  self.postMessage(told);
}

async function read(wanted: Wanted): Promise<Rows> {
  const file = remote(wanted);
  const metadata = await parquetMetadataAsync(file);
  const all = parquetSchema(metadata).children.map((each) => each.element.name);
  const names = affordable(metadata, all.slice(0, MOST_COLUMNS));
  if (all.length > 0 && names.length === 0) throw new Error("its first column alone is larger than what is read here");
  const found = names.length
    ? await parquetReadObjects({ file, metadata, columns: names, rowStart: 0, rowEnd: ROWS, compressors: await decompressors(metadata), useOffsetIndex: true })
    : [];
  const rows = found.map((row) => names.map((name) => written(row[name])));
  return { names, rows, columns: statistics(metadata), left: all.length - names.length };
}

function remote({ url, headers, size }: Wanted): AsyncBuffer {
  let left = MOST_BYTES + MOST_FOOTER;
  return {
    byteLength: size,
    async slice(start, end = size) {
      left -= end - start;
      if (left < 0) throw new Error("its first rows are spread over more bytes than are read here");
      const answer = await fetch(url, { headers: { ...headers, Range: `bytes=${start}-${end - 1}` }, credentials: "same-origin" });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      return answer.arrayBuffer();
    },
  };
}

/** The first columns whose parts of the first row group may be fetched; a part that knows where its pages are costs little. */
function affordable(metadata: FileMetaData, names: string[]): string[] {
  const sizes = new Map<string, number>();
  for (const each of metadata.row_groups[0]?.columns ?? []) {
    const name = each.meta_data?.path_in_schema[0] ?? "";
    const size = each.offset_index_offset === undefined ? Number(each.meta_data?.total_compressed_size ?? 0) : 1;
    sizes.set(name, (sizes.get(name) ?? 0) + size);
  }
  let sum = 0;
  const end = names.findIndex((name) => (sum += sizes.get(name) ?? 0) > MOST_BYTES);
  return end < 0 ? names : names.slice(0, end);
}

/** Only what the file needs is loaded; what unpacks Snappy is always there. */
async function decompressors(metadata: FileMetaData): Promise<Compressors> {
  const codecs = new Set(metadata.row_groups[0]?.columns.map((each) => each.meta_data?.codec));
  const found: Compressors = {};
  if (codecs.has("ZSTD")) {
    const { decompress } = await import("fzstd");
    found.ZSTD = (input) => decompress(input);
  }
  if (codecs.has("GZIP")) {
    const { gunzip } = await import("hyparquet-compressors/src/gzip.js");
    found.GZIP = (input, length) => gunzip(input, new Uint8Array(length));
  }
  if (codecs.has("LZ4") || codecs.has("LZ4_RAW")) {
    const { decompressLz4, decompressLz4Raw } = await import("hyparquet-compressors/src/lz4.js");
    [found.LZ4, found.LZ4_RAW] = [decompressLz4, decompressLz4Raw];
  }
  if (codecs.has("BROTLI")) found.BROTLI = (await import("hyparquet-compressors/src/brotli.js")).decompressBrotli;
  return found;
}

/** What the footer says of each column over all row groups; a group that says nothing makes it unknown. */
function statistics(metadata: FileMetaData): Column[] {
  const found = new Map<string, { least?: unknown; most?: unknown; missing: number | null; isKnown: boolean }>();
  for (const group of metadata.row_groups)
    for (const { meta_data: about } of group.columns) {
      const name = about?.path_in_schema.join(".") ?? "";
      const said = about?.statistics;
      const [least, most] = [said?.min_value ?? said?.min, said?.max_value ?? said?.max];
      const known = found.get(name) ?? { least, most, missing: 0, isKnown: true };
      known.isKnown &&= least !== undefined && most !== undefined;
      if (known.isKnown && (least as number) < (known.least as number)) known.least = least;
      if (known.isKnown && (most as number) > (known.most as number)) known.most = most;
      known.missing = known.missing === null || said?.null_count === undefined ? null : known.missing + Number(said.null_count);
      found.set(name, known);
    }
  return [...found].map(([name, { least, most, missing, isKnown }]) => ({ name, least: isKnown ? written(least) : "", most: isKnown ? written(most) : "", missing }));
}

function written(value: unknown): string {
  const text = plain(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString().replace(/T00:00:00\.000Z$/, "").replace("T", " ").replace(/\.?0*Z$/, "");
  if (value instanceof Uint8Array) return `0x${Array.from(value.slice(0, 32), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  if (typeof value === "object") return JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each));
  return String(value);
}
