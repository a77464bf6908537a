/** A call that continues a kept response holds memory for it from before it is read until its body is dropped. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { KeptResponses, MAX_KEPT_BYTES } from '../../../../dataplane/kept/kept-responses.ts';
import { NotKept, READING_FACTOR } from '../../../../dataplane/kept/kept-values.ts';
import type { KeptStore } from '../../../../dataplane/kept/store.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { MemoryBudget } from '../../../../dataplane/memory-budget.ts';
import type { Authenticated, CallRecord, PipelineDeps, Routed } from '../../../../dataplane/pipeline/context.ts';
import { continueResponse } from '../../../../dataplane/pipeline/continue-response.ts';
import { addTurn, beginTurn, holdTurn } from '../../../../dataplane/pipeline/conversation-turn.ts';
import { RequestBody } from '../../../../dataplane/pipeline/request-body.ts';
import { SealingKeys } from '../../../../dataplane/sealing/sealing-keys.ts';

const KEYS = [Buffer.alloc(32, 7)];
const ID = `resp_${'0f'.repeat(16)}`;
const PLACE = { account: 'team/a', id: ID };
const INPUT = Buffer.from(`[{"role":"user","content":"${'x'.repeat(1_000)}"}]`);
const RESPONSE = Buffer.from(`{"id":"${ID}","output":[{"type":"message","role":"assistant","content":[]}]}`);

/** Keeps one response at a time. */
function memoryStore(more: Partial<KeptStore> = {}): KeptStore {
  let bytes: Uint8Array | undefined;
  return {
    put: async (response) => {
      bytes = response.bytes;
      return undefined;
    },
    sizeOf: async () => bytes?.length,
    get: async () => bytes,
    delete: async () => true,
    close: async () => undefined,
    ...more,
  };
}

/** Counts what is held, and at most was. */
class CountedMemory extends MemoryBudget {
  held = 0;
  most = 0;
  override take(...[bytes, capacity, owner]: Parameters<MemoryBudget['take']>): ReturnType<MemoryBudget['take']> {
    const refusal = super.take(bytes, capacity, owner);
    if (!refusal) this.held += bytes;
    this.most = Math.max(this.most, this.held);
    return refusal;
  }
  override giveBack(...[bytes, owner]: Parameters<MemoryBudget['giveBack']>): void {
    super.giveBack(bytes, owner);
    this.held -= bytes;
  }
}

interface World {
  readonly memory: CountedMemory;
  readonly kept: KeptResponses;
  readonly deps: Pick<PipelineDeps, 'kept' | 'state' | 'memory'>;
  readonly body: RequestBody;
  readonly call: Authenticated;
}

function worldOf(store: KeptStore, bytes = 1_000_000): World {
  const memory = new CountedMemory({ maxBodyBytes: bytes, maxBufferedBytes: bytes });
  const kept = new KeptResponses({ store, days: 1, maxBytes: 1e9 }, { nowMs: () => 0 });
  const body = new RequestBody(Buffer.from(`{"input":"y","previous_response_id":"${ID}"}`));
  const sealingKeys = new SealingKeys(KEYS.map((key) => key.toString('base64')));
  const groups = new Map([['g', { offers: new Map([['m', {}]]) }]]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const deps = { kept, memory, state: { get: () => ({ sealingKeys, groups }) } } as unknown as World['deps'];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const call = {
    key: { uid: 'u', account: 'team/a', group: 'g', models: undefined },
    received: { body },
  } as unknown as Authenticated;
  return { memory, kept, deps, body, call };
}

const keep = (kept: KeptResponses, more: object = {}): Promise<void> =>
  kept.keep(PLACE, { model: 'm', input: INPUT, response: RESPONSE, ...more }, KEYS);

describe('a call that continues a kept response', () => {
  it('holds what reading takes, then its body, then nothing', async () => {
    const { memory, kept, deps, body, call } = worldOf(memoryStore());
    await keep(kept);
    await continueResponse(deps, call, ID);
    assert.deepEqual(JSON.parse(body.bytes.toString()), {
      input: [
        { role: 'user', content: 'x'.repeat(1_000) },
        { type: 'message', role: 'assistant', content: [] },
        { role: 'user', content: 'y' },
      ],
    });
    assert.ok(memory.most > READING_FACTOR * (INPUT.length + RESPONSE.length));
    assert.equal(memory.held, body.bytes.length);
    body.drop();
    assert.deepEqual([memory.held, body.bytes.length], [0, 0]);
  });
  it('is refused where there is no room, before anything is read', async () => {
    let reads = 0;
    const store = memoryStore();
    const counted = { ...store, get: (...given: Parameters<KeptStore['get']>) => (reads++, store.get(...given)) };
    const { memory, kept, deps, call } = worldOf(counted, 2_000);
    await keep(kept);
    await assert.rejects(continueResponse(deps, call, ID), { code: 'rate_limit_exceeded' });
    assert.deepEqual([reads, memory.held], [0, 0]);
  });
  it('holds nothing where there is none, or the store does not answer', async () => {
    const away = { sizeOf: () => Promise.reject(new LedgerUnavailable('away')) };
    for (const [store, expected] of [
      [memoryStore(), { code: 'unsupported_parameter' }],
      [memoryStore(away), LedgerUnavailable],
    ] as const) {
      const { memory, deps, call } = worldOf(store);
      await assert.rejects(continueResponse(deps, call, ID), expected);
      assert.equal(memory.held, 0);
    }
  });
  it('whose body was dropped meanwhile holds nothing', async () => {
    const { memory, kept, deps, body, call } = worldOf(memoryStore());
    await keep(kept);
    const continuing = continueResponse(deps, call, ID);
    body.drop();
    await continuing;
    assert.deepEqual([memory.held, body.bytes.length], [0, 0]);
  });
});

describe('a turn of a conversation', () => {
  it('holds, until it is added, what reading takes by the size in the store', async () => {
    const plain = memoryStore();
    // base64 in Valkey, with what encryption adds
    const store = {
      ...plain,
      sizeOf: async (...given: Parameters<KeptStore['sizeOf']>) => 2 * ((await plain.sizeOf(...given)) ?? 0),
    };
    const { memory, kept, deps, body, call } = worldOf(store);
    const id = `conv_${'0f'.repeat(16)}`;
    const conversation = Buffer.from(`[0,{},["a"]]\n[{"role":"user","content":"${'x'.repeat(1_000)}"}]`);
    await kept.conversations.create({ account: 'team/a', id }, conversation, KEYS);
    const turn = await beginTurn(deps, call, id);
    const lost: unknown[] = [];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const record = { received: { requestId: 'req_1', body }, routed: call } as unknown as CallRecord;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const whole = { ...deps, lostTurn: (...given: unknown[]) => lost.push(given) } as unknown as PipelineDeps;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    holdTurn(whole, record, { ...call, turn } as unknown as Routed);
    body.drop();
    const { held } = memory;
    memory.most = 0;
    const response = Buffer.from(
      '{"status":"completed","output":[{"type":"message","role":"assistant","content":[]}]}',
    );
    await addTurn(whole, record, { kind: 'Buffered', status: 200, headers: {}, body: response, failed: false });
    assert.deepEqual(lost, []);
    assert.equal(memory.most, 0, 'no more is held, for which there might be no room');
    assert.equal(held, turn.own.length + turn.readingBytes + READING_FACTOR * turn.own.length);
    assert.equal(memory.held, 0);
    assert.match(
      String(await kept.conversations.read({ account: 'team/a', id }, { keys: KEYS, hold: () => undefined })),
      /assistant/,
    );
  });
});

describe('what is kept', () => {
  it('is put again where earlier puts did not make enough room, a bounded number of times', async () => {
    let puts = 0;
    const store = memoryStore();
    const slow = worldOf({ ...store, put: async (kept) => (++puts < 5 ? 'AccountFull' : store.put(kept)) });
    await keep(slow.kept);
    assert.equal(puts, 5);
    const endless = worldOf({ ...store, put: async () => (puts++, 'AccountFull') });
    await assert.rejects(keep(endless.kept), /used up/);
    assert.ok(puts < 100);
    puts = 0;
    const never = worldOf({ ...store, put: async () => (puts++, 'TooLarge') });
    await assert.rejects(keep(never.kept), /larger than the account's bytes/);
    assert.equal(puts, 1);
  });

  it('comes back as it was, to its account and under its id only', async () => {
    const { kept } = worldOf(memoryStore());
    await keep(kept);
    const read = await kept.read(PLACE, KEYS, () => undefined);
    assert.deepEqual(
      [read?.model, read && Buffer.from(read.input), read && Buffer.from(read.response)],
      ['m', INPUT, RESPONSE],
    );
    for (const other of [
      { ...PLACE, account: 'team/b' },
      { ...PLACE, id: `${ID}0` },
    ])
      assert.equal(await kept.read(other, KEYS, () => undefined), undefined);
    assert.equal(await kept.read(PLACE, [Buffer.alloc(32, 8)], () => undefined), undefined);
  });
  it('is nothing that is too large, or has no room, which is said', async () => {
    const { kept } = worldOf(memoryStore());
    await assert.rejects(keep(kept, { input: Buffer.alloc(MAX_KEPT_BYTES) }), NotKept);
    assert.equal(await kept.read(PLACE, KEYS, () => undefined), undefined);
    const full = worldOf(memoryStore({ put: async () => 'StoreFull' }));
    await assert.rejects(keep(full.kept), /no more room/);
  });
});
