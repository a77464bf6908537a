/**
 * Streams as `@google/generative-ai` reads them, which is not installed: its reader matches whole events at the start of
 * what is left, so that a blank line, a comment or the name of an event ends the stream with "Failed to parse stream".
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { pingOf } from '../../../../dataplane/protocol/pings.ts';
import type { StreamConverter } from '../../../../dataplane/protocol/converter.ts';
import { converterFor, providerOf } from '../../../../dataplane/protocol/providers.ts';
import { byteByByte, openStream, recordings, STREAM_REQUEST, TESTDATA } from './replay.ts';

/** The regular expression of version 0.24.1, dist/index.mjs: getResponseStream. */
const EVENT = /^data: (.*)(?:\n\n|\r\r|\r\n\r\n)/;

interface Chunk {
  readonly candidates?: readonly object[];
  readonly promptFeedback?: object;
  readonly error?: object;
}

/** What the package's reader makes of a stream's pieces. Throws where it does. */
function readAsPackage(pieces: readonly string[]): readonly Chunk[] {
  const chunks: Chunk[] = [];
  let rest = '';
  for (const piece of pieces) {
    rest += piece;
    for (let match = EVENT.exec(rest); match; match = EVENT.exec(rest)) {
      chunks.push(JSON.parse(match[1] ?? '') as Chunk);
      rest = rest.slice(match[0].length);
    }
  }
  if (rest.trim() !== '') throw new Error(`Failed to parse stream: ${rest.slice(0, 80)}`);
  return chunks;
}

/** The pieces that the client gets: pings before the response and after each event, as of a provider that is slow. */
function piecesOf(stream: StreamConverter, bytes: Buffer, pings: boolean): readonly string[] {
  const ping = pings ? [Buffer.from(pingOf('Gemini', true)).toString()] : [];
  const pieces = [...ping];
  for (const byte of byteByByte(bytes)) {
    if (stream.terminal) break;
    const sent = Buffer.from(stream.push(byte)).toString();
    if (sent !== '') pieces.push(sent, ...ping);
  }
  const end = stream.end();
  if (end.outcome !== 'Cut') pieces.push(Buffer.from(end.last).toString());
  return pieces;
}

interface Recorded {
  readonly name: string;
  readonly bytes: Buffer;
  readonly open: () => StreamConverter;
}

function recordedIn(folder: string, open: () => StreamConverter): readonly Recorded[] {
  const path = join(TESTDATA, folder);
  return readdirSync(path)
    .filter((file) => file.endsWith('.in.sse'))
    .map((file) => ({ name: `${folder}/${file}`, bytes: readFileSync(join(path, file)), open }));
}

const RECORDED: readonly Recorded[] = [
  ...recordings().map(({ name, upstream, bytes }) => ({ name, bytes, open: () => openStream('Gemini', upstream) })),
  ...recordedIn('converse-streams', () => converterFor('Gemini', 'BedrockConverse').stream(STREAM_REQUEST)),
  ...recordedIn('responses-streams', () => converterFor('Gemini', 'OpenAI', 'Responses').stream(STREAM_REQUEST)),
  ...recordedIn('gemini-streams', () => providerOf('Gemini').chat.Gemini.stream(STREAM_REQUEST)),
];

describe('a stream is read by @google/generative-ai', () => {
  for (const { name, bytes, open } of RECORDED)
    it(name, () => {
      for (const pings of [false, true]) {
        const chunks = readAsPackage(piecesOf(open(), bytes, pings));
        for (const chunk of chunks)
          assert.ok(chunk.candidates ?? chunk.promptFeedback ?? chunk.error, JSON.stringify(chunk));
      }
    });

  it('unless it has a blank line, a comment or the name of an event', () => {
    const event = 'data: {"candidates":[]}\n\n';
    assert.equal(readAsPackage([event, event]).length, 2);
    for (const other of ['\n\n', ': ping\n\n', 'event: message\n'])
      assert.throws(() => readAsPackage([other, event]), /Failed to parse stream/);
  });
});
