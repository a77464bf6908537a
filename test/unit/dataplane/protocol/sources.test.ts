/**
 * Responses and streams of Gemini, Converse and OpenAI's Responses in every client's dialect: golden files. Each stream gives the same
 * bytes whole, as recorded and byte by byte.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import type { ProviderKind } from '../../../../dataplane/protocol/provider.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { assertGolden, indent, pretty } from './golden.ts';
import { byEvent, byteByByte, replay, STREAM_REQUEST, TESTDATA } from './replay.ts';

const CLIENTS: readonly ChatDialect[] = ['OpenAI', 'Anthropic', 'Responses', 'Gemini'];
const SOURCES: readonly (readonly [string, ChatDialect | 'Converse', ProviderKind])[] = [
  ['gemini', 'Gemini', 'Gemini'],
  ['converse', 'Converse', 'BedrockConverse'],
  ['responses', 'Responses', 'OpenAI'],
];
const CONTEXT = {
  id: 'req-1',
  createdSeconds: 1_800_000_000,
  nowSeconds: () => 1_800_000_000,
  estimatedInputTokens: 77,
  model: 'the-model',
};

for (const [name, own, protocol] of SOURCES)
  for (const client of CLIENTS.filter((dialect) => dialect !== own)) {
    const converter = converterFor(client, protocol, own === 'Responses' ? own : 'Chat');
    const streams = join(TESTDATA, `${name}-streams`);
    for (const file of readdirSync(streams).filter((entry) => entry.endsWith('.in.sse')))
      test(`${name} to ${client}: stream ${file}`, () => {
        const bytes = readFileSync(join(streams, file));
        const open = (): ReturnType<ReturnType<typeof converterFor>['stream']> =>
          converter.stream({ ...STREAM_REQUEST, wantsStreamUsage: true });
        const whole = replay(open(), [bytes]);
        assert.deepEqual(replay(open(), byteByByte(bytes)), whole);
        assert.deepEqual(replay(open(), byEvent(bytes)), whole);
        const { sent, last, ...rest } = whole;
        const golden = join(streams, file.replace(/\.in\.sse$/, `.to-${client.toLowerCase()}`));
        assertGolden(`${golden}.out.sse`, sent + last);
        assertGolden(`${golden}.end.json`, pretty(rest));
      });
    const responses = join(TESTDATA, `${name}-responses`);
    for (const file of readdirSync(responses).filter((entry) => entry.endsWith('.in.json')))
      test(`${name} to ${client}: response ${file}`, () => {
        const { body, meter } = converter.response(readFileSync(join(responses, file)), CONTEXT);
        const golden = join(responses, file.replace(/\.in\.json$/, `.to-${client.toLowerCase()}`));
        assertGolden(`${golden}.out.txt`, indent(Buffer.from(body).toString('utf8')));
        assertGolden(`${golden}.meter.json`, pretty(meter));
      });
  }
