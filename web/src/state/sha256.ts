/** SHA-256 over bytes that come piece by piece; the browser's own takes all of a file at once, and only over HTTPS. */

const ROUNDS = 64;
const BLOCK = 64;
const [START, CONSTANTS] = roots();

export class Sha256 {
  private readonly state = START.slice();
  private readonly schedule = new Int32Array(ROUNDS);
  private readonly block = new Uint8Array(BLOCK);
  private filled = 0;
  private size = 0;

  update(bytes: Uint8Array): void {
    this.size += bytes.length;
    let at = 0;
    if (this.filled > 0) {
      at = Math.min(BLOCK - this.filled, bytes.length);
      this.block.set(bytes.subarray(0, at), this.filled);
      this.filled += at;
      if (this.filled < BLOCK) return;
      this.mix(this.block, 0);
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) this.mix(bytes, at);
    this.filled = bytes.length - at;
    this.block.set(bytes.subarray(at));
  }

  /** The hash of everything; nothing can be added after that. */
  hex(): string {
    const size = this.size;
    const padding = new Uint8Array((this.filled < 56 ? 56 : 120) - this.filled + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(size / 0x20000000));
    view.setUint32(padding.length - 4, (size << 3) >>> 0);
    this.update(padding);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  private mix(bytes: Uint8Array, at: number): void {
    const { state, schedule: w } = this;
    for (let i = 0; i < 16; i += 1, at += 4) w[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    for (let i = 16; i < ROUNDS; i += 1) {
      const x = w[i - 15]!;
      const y = w[i - 2]!;
      const small = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const large = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16]! + small + w[i - 7]! + large) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < ROUNDS; i += 1) {
      const turned = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + turned + ((e & f) ^ (~e & g)) + CONSTANTS[i]! + w[i]!) | 0;
      const other = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (other + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    state[0]! += a;
    state[1]! += b;
    state[2]! += c;
    state[3]! += d;
    state[4]! += e;
    state[5]! += f;
    state[6]! += g;
    state[7]! += h;
  }
}

/** The standard's constants: the first 32 bits behind the point of the roots of the first primes. */
function roots(): [Int32Array, Int32Array] {
  const primes: number[] = [];
  for (let n = 2; primes.length < ROUNDS; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const bits = (value: number) => Math.floor((value - Math.floor(value)) * 2 ** 32) | 0;
  return [Int32Array.from(primes.slice(0, 8), (prime) => bits(Math.sqrt(prime))), Int32Array.from(primes, (prime) => bits(Math.cbrt(prime)))];
}
