/**
 * The bytes of a small body, which stops being read once it has more than `maxBytes`. Rejects with UpstreamFailure if
 * the provider breaks off.
 */
export async function collectUpTo(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  await collectInto(pieces, body, maxBytes);
  return Buffer.concat(pieces);
}

/** Does the same into a list, which has the pieces that came before a failure. */
export async function collectInto(
  pieces: Uint8Array[],
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<void> {
  let size = 0;
  for await (const piece of body) {
    pieces.push(piece);
    size += piece.length;
    if (size > maxBytes) break;
  }
}
