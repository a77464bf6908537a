/** Opus packets, each of which says how long it sounds (RFC 6716, 3.1). */

const SILK_MS = [10, 20, 40, 60];
const HYBRID_MS = [10, 20];
const CELT_MS = [2.5, 5, 10, 20];

/** Of a packet that begins at `at`, and has `bytes` bytes. */
export function opusSeconds(file: Uint8Array, at: number, bytes: number): number {
  if (bytes === 0) return 0;
  const toc = file[at] ?? 0;
  const frames = (toc & 3) === 3 ? (bytes > 1 ? (file[at + 1] ?? 0) & 63 : 0) : (toc & 3) === 0 ? 1 : 2;
  return (frames * frameMs(toc >> 3)) / 1000;
}

function frameMs(config: number): number {
  if (config < 12) return SILK_MS[config & 3] ?? 0;
  return (config < 16 ? HYBRID_MS[config & 1] : CELT_MS[config & 3]) ?? 0;
}
