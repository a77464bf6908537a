/** Runs recorded streams through converters, in chunks of any size. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import type { Meter, StreamConverter, StreamRequest } from '../../../../dataplane/protocol/converter.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures');
export const TESTDATA = join(import.meta.dirname, '../../../../dataplane/protocol/testdata');

/** The protocols that are both a dialect and a provider's protocol. */
export type Protocol = 'OpenAI' | 'Anthropic';

const ANTHROPIC_PROVIDERS = new Set(['anthropic', 'bedrock-proxy']);

interface Recording {
  readonly name: string;
  readonly upstream: Protocol;
  readonly bytes: Buffer;
}

/** The output of a stream for its client and its gateway. */
export interface Replay {
  readonly sent: string;
  readonly outcome: string;
  readonly last: string;
  readonly error: unknown;
  readonly meter: Meter;
}

export const STREAM_REQUEST: StreamRequest = {
  wantsStreamUsage: false,
  model: 'the-model',
  estimatedInputTokens: 77,
  id: 'req-1',
  createdSeconds: 1_800_000_000,
  nowSeconds: () => 1_800_000_000,
};

export function recordings(): Recording[] {
  return readdirSync(FIXTURES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: provider }) =>
      readdirSync(join(FIXTURES, provider))
        .filter((file) => file.endsWith('.sse'))
        .map((file) => ({
          name: `${provider}/${file.slice(0, -4)}`,
          upstream: ANTHROPIC_PROVIDERS.has(provider) ? ('Anthropic' as const) : ('OpenAI' as const),
          bytes: readFileSync(join(FIXTURES, provider, file)),
        })),
    );
}

export function recording(name: string): Recording {
  const found = recordings().find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no recording ${name}`);
  return found;
}

export function openStream(
  client: ChatDialect,
  upstream: Protocol,
  request: Partial<StreamRequest> = {},
): StreamConverter {
  return converterFor(client, upstream).stream({ ...STREAM_REQUEST, ...request });
}

/** Like the pipeline: nothing is pushed after the terminal event. */
export function replay(stream: StreamConverter, pieces: readonly Uint8Array[]): Replay {
  const sent: Buffer[] = [];
  for (const piece of pieces) {
    if (stream.terminal) break;
    sent.push(Buffer.from(stream.push(piece)));
  }
  const end = stream.end();
  return {
    sent: Buffer.concat(sent).toString('utf8'),
    outcome: end.outcome,
    last: end.outcome === 'Cut' ? '' : Buffer.from(end.last).toString('utf8'),
    error: end.outcome === 'Failed' ? end.error : undefined,
    meter: stream.meter,
  };
}

/** Chunks that end at these positions. */
export function splitAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [
    0,
    ...[...new Set(places)].filter((place) => place > 0 && place < bytes.length).sort((a, b) => a - b),
    bytes.length,
  ];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

export function byteByByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
}

/** Chunks of one event, as providers send them. */
export function byEvent(bytes: Buffer): Buffer[] {
  return bytes
    .toString('latin1')
    .split(/(?<=\n\r?\n)/)
    .map((event) => Buffer.from(event, 'latin1'));
}

/** Asserts that a stream gives the same result in chunks of any size. */
export function assertCutAlike(open: () => StreamConverter, bytes: Buffer, cuts: readonly number[]): void {
  const expected = replay(open(), byteByByte(bytes));
  assert.deepEqual(replay(open(), [bytes]), expected);
  assert.deepEqual(replay(open(), splitAt(bytes, cuts)), expected);
  assert.deepEqual(replay(open(), byEvent(bytes)), expected);
}
