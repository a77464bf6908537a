/** Running calls under thresholds that are new; what users see of it is in test/api/reload/hot-reload.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { CallMap } from '../../../../dataplane/ledger/call-map.ts';
import type { CallRecord, PipelineDeps } from '../../../../dataplane/pipeline/context.ts';
import { countRunningCalls } from '../../../../dataplane/pipeline/new-thresholds.ts';
import type { SlotLimit, SlotResult } from '../../../../dataplane/ledger/ledger.ts';

const KEY: SlotLimit = { scope: 'Key', id: 'key/uid', limit: 1 };
const GROUP: SlotLimit = { scope: 'Group', id: 'group/g/r/c', limit: 2 };
const CHANNEL: SlotLimit = { scope: 'Channel', id: 'channel/r/c', limit: 3 };

/** A call that runs on r/c for group g, without any slots; what is in force has `slots`. */
function scene({ key, slots, offered = 'm', own = [], taking }: {
  readonly key?: SlotLimit;
  readonly offered?: string;
  readonly slots: readonly SlotLimit[];
  readonly own?: readonly SlotLimit[];
  readonly taking: () => SlotResult | Promise<SlotResult>;
}) {
  const asked: string[] = [];
  const candidate = (its: readonly SlotLimit[]): object =>
    ({ group: 'g', model: { name: 'm' }, target: { id: 'r/c' }, slots: its });
  const record = { received: { requestId: 'req_1' }, sent: true, admitted: {
    routed: { key: { uid: 'uid' }, keyHash: 'hash' }, candidate: candidate(own),
  } } as unknown as CallRecord;
  const state = {
    groups: new Map([['g', { offers: new Map([[offered, { tiers: [[], [candidate(slots)]] }]]) }]]),
    channelSlots: new Map([['r/c', CHANNEL]]),
    credentials: new Map([['hash', { key: { uid: 'uid', ...key && { slot: key } } }]]),
  };
  const running = new CallMap<CallRecord>();
  running.set(record.received.requestId, record);
  const deps = {
    running,
    state: { get: () => state, generation: 2 },
    ledger: {
      takeSlots(callId: string, wanted: readonly SlotLimit[]) {
        asked.push(...wanted.map(({ id, limit }) => `take ${callId} ${id} ${limit}`));
        return taking();
      },
      releaseSlots: (callId: string) => void asked.push(`release ${callId}`),
    },
  } as unknown as Pick<PipelineDeps, 'state' | 'ledger' | 'running'>;
  return { deps, record, asked };
}

const take = ({ id }: SlotLimit): string => `take req_1 ${id} ${Number.MAX_SAFE_INTEGER}`;

describe('a running call', () => {
  it('is given the slots of thresholds that are new to it, and no others', () => {
    const { deps, asked } =
      scene({ key: KEY, slots: [GROUP, CHANNEL], own: [CHANNEL], taking: () => ({ outcome: 'Taken' }) });
    countRunningCalls(deps);
    assert.deepEqual(asked, [take(GROUP), take(KEY)]);
  });

  it('counts under its channel\'s own threshold where its group no longer has the model', () => {
    const { deps, asked } =
      scene({ slots: [GROUP, CHANNEL], offered: 'another', taking: () => ({ outcome: 'Taken' }) });
    countRunningCalls(deps);
    assert.deepEqual(asked, [take(CHANNEL)]);
  });

  it('that has left its channel is not given slots of it', () => {
    const { deps, asked, record } = scene({ slots: [CHANNEL], taking: () => assert.fail('nothing is to be taken') });
    record.sent = false;
    countRunningCalls(deps);
    assert.deepEqual(asked, []);
  });

  it('is not asked about where nothing is new, or before it is admitted', () => {
    const { deps, asked, record } =
      scene({ slots: [CHANNEL], own: [CHANNEL], taking: () => assert.fail('nothing is to be taken') });
    countRunningCalls(deps);
    record.admitted = undefined;
    countRunningCalls(deps);
    assert.deepEqual(asked, []);
  });

  it('that ends before a shared ledger has answered keeps nothing', async () => {
    const answer = Promise.withResolvers<SlotResult>();
    const { deps, asked, record } = scene({ slots: [CHANNEL], taking: () => answer.promise });
    countRunningCalls(deps);
    deps.running.delete(record.received.requestId);
    answer.resolve({ outcome: 'Taken' });
    await answer.promise;
    assert.deepEqual(asked, [take(CHANNEL), 'release req_1']);
  });

  it('goes on, with its slots, where it is still there then, and where the ledger is away', async () => {
    for (const outcome of [Promise.resolve({ outcome: 'Taken' } as const), Promise.reject(new Error('away'))]) {
      const { deps, asked } = scene({ slots: [CHANNEL], taking: () => outcome });
      countRunningCalls(deps);
      await outcome.catch(() => undefined);
      assert.deepEqual(asked, [take(CHANNEL)]);
    }
  });
});
