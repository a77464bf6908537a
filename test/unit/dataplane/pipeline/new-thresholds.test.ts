/** Running calls under thresholds that are new; what users see of it is in test/api/reload/hot-reload.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { CallMap } from '../../../../dataplane/ledger/call-map.ts';
import type { CallRecord, PipelineDeps } from '../../../../dataplane/pipeline/context.ts';
import { countRunningCalls } from '../../../../dataplane/pipeline/new-thresholds.ts';
import type { CountLimit } from '../../../../dataplane/ledger/ledger.ts';

const KEY: CountLimit = { scope: 'Key', id: 'key/uid', measure: 'Concurrency', amount: 1 };
const GROUP: CountLimit = { scope: 'Group', id: 'group/g/r/c', measure: 'Concurrency', amount: 2 };
const CHANNEL: CountLimit = { scope: 'Channel', id: 'channel/r/c', measure: 'Concurrency', amount: 3 };

/** A call that runs on r/c for group g without slots; the state in force has `slots`. */
function scene({
  key,
  slots,
  offered = 'm',
  own = [],
}: {
  readonly key?: CountLimit;
  readonly offered?: string;
  readonly slots: readonly CountLimit[];
  readonly own?: readonly CountLimit[];
}) {
  const asked: string[] = [];
  const candidate = (its: readonly CountLimit[]): object => ({
    group: 'g',
    model: { name: 'm' },
    target: { id: 'r/c' },
    limits: its,
  });
  const record = {
    received: { requestId: 'req_1' },
    sent: true,
    admitted: {
      routed: { key: { uid: 'uid', limits: [] }, keyHash: 'hash' },
      candidate: candidate(own),
    },
  } as unknown as CallRecord;
  const state = {
    groups: new Map([['g', { offers: new Map([[offered, { tiers: [[], [candidate(slots)]] }]]) }]]),
    channelLimits: new Map([['r/c', [CHANNEL]]]),
    credentials: new Map([['hash', { key: { uid: 'uid', limits: key ? [key] : [] } }]]),
  };
  const running = new CallMap<CallRecord>();
  running.set(record.received.requestId, record);
  const deps = {
    running,
    state: { get: () => state, generation: 2 },
    ledger: {
      count: (callId: string, wanted: readonly CountLimit[]) =>
        void asked.push(...wanted.map(({ id }) => `${callId} ${id}`)),
    },
  } as unknown as Pick<PipelineDeps, 'state' | 'ledger' | 'running'>;
  return { deps, record, asked };
}

const take = ({ id }: CountLimit): string => `req_1 ${id}`;

describe('a running call', () => {
  it('gets the slots of new thresholds only', () => {
    const { deps, asked } = scene({ key: KEY, slots: [GROUP, CHANNEL], own: [CHANNEL] });
    countRunningCalls(deps);
    assert.deepEqual(asked, [take(GROUP), take(KEY)]);
  });

  it("counts under its channel's own threshold if its group no longer has the model", () => {
    const { deps, asked } = scene({ slots: [GROUP, CHANNEL], offered: 'another' });
    countRunningCalls(deps);
    assert.deepEqual(asked, [take(CHANNEL)]);
  });

  it('that has left its channel gets no slots of it', () => {
    const { deps, asked, record } = scene({ slots: [CHANNEL] });
    record.sent = false;
    countRunningCalls(deps);
    assert.deepEqual(asked, []);
  });

  it('is not checked without new thresholds, or before it is admitted', () => {
    const { deps, asked, record } = scene({ slots: [CHANNEL], own: [CHANNEL] });
    countRunningCalls(deps);
    record.admitted = undefined;
    countRunningCalls(deps);
    assert.deepEqual(asked, []);
  });
});
