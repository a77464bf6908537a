/**
 * Streams of OpenAI's Responses as a provider sends them, broken in every way: a conversion throws nothing, sends the
 * same in pieces of any size, and ends as its client expects.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'vitest';
import type { Dialect } from '../../../../dataplane/protocol/call-facts.ts';
import type { StreamConverter } from '../../../../dataplane/protocol/converter.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { assertCutAlike, byEvent, replay, STREAM_REQUEST, TESTDATA } from './replay.ts';

const CLIENTS: readonly Dialect[] = ['OpenAI', 'Anthropic', 'Gemini'];
const FOLDER = join(TESTDATA, 'responses-streams');
const STREAMS = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.in.sse'))
  .map((name) => readFileSync(join(FOLDER, name)));

const open = (client: Dialect): StreamConverter =>
  converterFor(client, 'OpenAI', 'Responses').stream({ ...STREAM_REQUEST, wantsStreamUsage: true });

/** Anthropic's blocks are numbered without a gap, and one is open at a time. */
function assertBlocks(sent: string): void {
  let next = 0;
  let openBlock: number | undefined;
  for (const line of sent.split('\n').filter((each) => each.startsWith('data: '))) {
    const { type, index } = JSON.parse(line.slice('data: '.length)) as { type: string; index?: number };
    if (type === 'content_block_start') {
      assert.deepEqual([openBlock, index], [undefined, next++]);
      openBlock = index;
    } else if (type.startsWith('content_block')) assert.equal(index, openBlock);
    if (type === 'content_block_stop') openBlock = undefined;
  }
}

/** The calls of a client of chat completions: each has an id and a name. */
function assertCalls(sent: string): void {
  for (const line of sent.split('\n').filter((each) => each.startsWith('data: {'))) {
    const { choices = [] } = JSON.parse(line.slice('data: '.length)) as {
      choices?: readonly { delta: { tool_calls?: readonly { id?: string; function?: { name?: string } }[] } }[];
    };
    for (const { id, function: called } of choices.flatMap(({ delta }) => delta.tool_calls ?? []))
      if (id !== undefined) assert.ok(id !== '' && called?.name !== '');
  }
}

test('events left out, repeated and out of order, and bytes changed', () => {
  const mangled = fc.tuple(
    fc.constantFrom(...STREAMS),
    fc.array(fc.tuple(fc.constantFrom('drop', 'repeat', 'move'), fc.nat(60), fc.nat(60)), { maxLength: 5 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 }),
    fc.array(fc.nat(4000), { maxLength: 6 }),
  );
  fc.assert(
    fc.property(mangled, ([bytes, changes, bytesChanged, cuts]) => {
      const events = byEvent(bytes);
      for (const [change, from, to] of changes) {
        const at = from % events.length;
        if (change === 'repeat') events.splice(at, 0, events[at] ?? Buffer.from(''));
        else if (events.length > 1) {
          const [event] = events.splice(at, 1);
          if (change === 'move' && event) events.splice(to % events.length, 0, event);
        }
      }
      const broken = Buffer.concat(events);
      for (const [at, byte] of bytesChanged) broken[at % broken.length] = byte;
      for (const client of CLIENTS) {
        assertCutAlike(() => open(client), broken, cuts);
        const { sent, last, outcome } = replay(open(client), [broken]);
        if (client === 'Anthropic') assertBlocks(sent + last);
        if (client === 'OpenAI') assertCalls(sent + last);
        if (outcome === 'Complete') assert.ok(last.length > 0);
      }
    }),
    { numRuns: 150 },
  );
});

test('a stream without its last event is cut, and one with it is complete or failed', () => {
  for (const bytes of STREAMS) {
    const events = byEvent(bytes);
    const end = events.findIndex((event) => /"type":"response\.(?:completed|incomplete)"/.test(event.toString('utf8')));
    if (end < 0) continue;
    for (const client of CLIENTS) {
      assert.equal(replay(open(client), events.slice(0, end)).outcome, 'Cut');
      assert.equal(replay(open(client), events).outcome, 'Complete');
    }
  }
});
