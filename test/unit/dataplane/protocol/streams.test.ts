/**
 * Every recorded stream through every converter of its protocol: compared with its golden file, in chunks of any size.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'vitest';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import { assertGolden, pretty } from './golden.ts';
import { byEvent, byteByByte, openStream, recordings, replay, splitAt, TESTDATA } from './replay.ts';
import type { Protocol } from './replay.ts';

interface Variant {
  readonly folder: string;
  readonly client: ChatDialect;
  readonly wantsStreamUsage: boolean;
}

function variantsOf(upstream: Protocol): Variant[] {
  const protocol = upstream.toLowerCase();
  return [
    { folder: `openai-${protocol}`, client: 'OpenAI', wantsStreamUsage: false },
    { folder: `openai-${protocol}-with-usage`, client: 'OpenAI', wantsStreamUsage: true },
    { folder: `anthropic-${protocol}`, client: 'Anthropic', wantsStreamUsage: false },
    { folder: `responses-${protocol}`, client: 'Responses', wantsStreamUsage: false },
    { folder: `gemini-${protocol}`, client: 'Gemini', wantsStreamUsage: false },
  ];
}

for (const { name, upstream, bytes } of recordings()) {
  for (const { folder, client, wantsStreamUsage } of variantsOf(upstream)) {
    const run = (pieces: readonly Buffer[]): ReturnType<typeof replay> =>
      replay(openStream(client, upstream, { wantsStreamUsage }), pieces);

    test(`${name} as ${folder}`, () => {
      const whole = run([bytes]);
      const { sent, last, ...end } = whole;
      assertGolden(join(TESTDATA, folder, `${name.replace('/', '-')}.out.sse`), `${sent}<held back>\n${last}`);
      assertGolden(join(TESTDATA, folder, `${name.replace('/', '-')}.end.json`), pretty(end));
      assert.deepEqual(run(byteByByte(bytes)), whole);
      assert.deepEqual(run(byEvent(bytes)), whole);
      fc.assert(
        fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (places) => {
          assert.deepEqual(run(splitAt(bytes, places)), whole);
        }),
        { numRuns: 25 },
      );
    });
  }
}
