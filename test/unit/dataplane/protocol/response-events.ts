/** Invariants of every stream of the Responses dialect, as its clients read it. */
import assert from 'node:assert/strict';
import type { StreamConverter } from '../../../../dataplane/protocol/converter.ts';
import type { Replay } from './replay.ts';

type Value = Record<string, unknown>;

export interface Event extends Value {
  readonly type: string;
}

const record = (value: unknown): Value => {
  assert.ok(typeof value === 'object' && value !== null);
  return { ...value };
};

export function eventsOf(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('event: '))
    .map((event) => {
      const [head = '', data = '', ...rest] = event.split('\n');
      const value = record(JSON.parse(data.slice('data: '.length)));
      const { type } = value;
      assert.ok(typeof type === 'string' && rest.length === 0);
      assert.equal(head, `event: ${type}`);
      return { ...value, type };
    });
}

const ENDS = /^response\.(?:completed|incomplete|failed)$/;
/** The parts of an item that grow by deltas, by the event with their final value. */
const WHOLE: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.refusal': 'refusal',
  'response.reasoning_summary_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
};

/**
 * Numbers count up, one item is open at a time, each is added and done once, deltas add up to the whole, and the one
 * end holds all items.
 */
export function assertResponse(events: readonly Event[]): void {
  assert.deepEqual(
    events.map((event) => event['sequence_number']),
    events.map((_event, index) => index),
  );
  assert.deepEqual(
    events.slice(0, 2).map(({ type }) => type),
    ['response.created', 'response.in_progress'],
  );
  const done: Value[] = [];
  let open: Value | undefined;
  let delta = '';
  for (const event of events) {
    const name = event.type.replace(/\.(?:delta|done)$/, '');
    if (event.type === 'response.output_item.added') {
      assert.equal(open, undefined, 'one item is open');
      open = record(event['item']);
      assert.equal(event['output_index'], done.length);
    } else if (event.type === 'response.output_item.done') {
      const item = record(event['item']);
      assert.deepEqual([item['id'], item['type']], [open?.['id'], open?.['type']]);
      done.push(item);
      open = undefined;
    } else if ('item_id' in event) {
      assert.deepEqual([event['item_id'], event['output_index']], [open?.['id'], done.length]);
    }
    if (event.type.endsWith('.delta')) delta += String(event['delta']);
    else if (event.type.endsWith('.done') && name in WHOLE) {
      assert.equal(event[WHOLE[name] ?? ''], delta, event.type);
      delta = '';
    }
  }
  const ends = events.filter(({ type }) => ENDS.test(type));
  assert.deepEqual(ends, events.slice(-1));
  const response = record(ends[0]?.['response']);
  assert.equal(`response.${String(response['status'])}`, ends[0]?.type);
  assert.deepEqual(response['output'], done);
}

/** Returns the events of a stream, which the gateway ends if its provider broke off. */
export function wholeResponse(stream: StreamConverter, { sent, last, outcome }: Replay): readonly Event[] {
  const end =
    outcome === 'Cut'
      ? Buffer.from(stream.fail?.({ code: 'server_error', message: 'broken off' }) ?? '').toString('utf8')
      : last;
  return eventsOf(sent + end);
}
