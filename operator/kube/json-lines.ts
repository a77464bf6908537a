/** JSON values that come one a line, however the bytes are cut. */

/** Whatever a line holds. */
// oxlint-disable-next-line typescript/no-explicit-any -- JSON.parse says any, and whoever reads the lines knows their type
export type Line = any;

/** Rejects where a line is no JSON, or the bytes end in the middle of one. */
export async function* jsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  /** Pieces of a line that has not ended; joined once, since a large object comes in many. */
  let begun: string[] = [];
  for await (const chunk of chunks) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      const whole = begun.length === 0 ? line : [...begun, line].join('');
      begun = [];
      if (whole.trim() !== '') yield JSON.parse(whole);
    }
    if (rest !== '') begun.push(rest);
  }
  if (begun.join('').trim() !== '') throw new Error('the stream ended within a line');
}
