/** What the reconciliation of realtime sessions accepts and finds, with evidence made by hand. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { nothingSince } from '../../chaos/happened.ts';
import type { LedgerRecord } from '../../chaos/ledger-file.ts';
import { planRound } from '../../chaos/plan.ts';
import type { SessionLog } from '../../chaos/sessions/client.ts';
import { sessionPrice, sessionUid, transcriptionPrice } from '../../chaos/sessions/config.ts';
import { judgeSessions } from '../../chaos/sessions/judge.ts';
import type { SessionEvidence } from '../../chaos/sessions/judge.ts';
import { planSessions } from '../../chaos/sessions/plan.ts';
import type { ProvidedResponse, ProvidedTranscription } from '../../chaos/sessions/provider.ts';

const { config } = planRound(1, 1);
const QUIET = nothingSince({ config, writtenMs: 0, inForceMs: 0 });

const session: SessionLog = {
  plan: { n: 3, startMs: 0, key: 'talk', asks: [], leaving: undefined },
  sentMs: 1_000,
  overMs: 2_000,
  id: 'req_1',
  status: 101,
  begun: [0, 1],
  ended: [0],
  committed: [],
  transcribed: [],
  sentBytes: 500,
  errors: [],
  left: true,
  closeCode: 1006,
  hung: false,
};

function provided(k: number, end: ProvidedResponse['end'], fate: Partial<ProvidedResponse['fate']>): ProvidedResponse {
  const usual = { beginMs: 0, pieces: [], pieceMs: 0, end: 'Usage', heedsCancel: true } as const;
  return { n: 3, k, textBytes: 400, end, fate: { ...usual, input: 100, cached: 40, output: 30, ...fate } };
}

/** The first one is billed by its usage, of the second one 400 bytes have come. */
const responses = [provided(0, 'Usage', {}), provided(1, undefined, {})];

function record(tokens: { readonly input: number; readonly cached: number; readonly output: number }): LedgerRecord {
  return {
    seq: 1,
    id: 'req_1',
    key: sessionUid('talk'),
    account: 'team/talk',
    group: 'talk',
    model: 'talk-model',
    channel: 'talk/first',
    createdMs: 1_001,
    status: 'ClientClosed',
    usageSource: 'Partial',
    tokens: { ...tokens, cacheWrite5m: 0, cacheWrite1h: 0 },
    costNanoUsd: sessionPrice(tokens),
    unbilledNanoUsd: 0n,
    durationMs: 1_000,
  };
}

function findings(one: LedgerRecord | undefined, more: Partial<SessionEvidence> = {}): string {
  const records = one ? [one] : [];
  const evidence = {
    sessions: [session],
    responses,
    transcriptions: [],
    records,
    happened: QUIET,
    isForgetful: false,
    ...more,
  };
  return judgeSessions(evidence).join('\n');
}

/** Three seconds of audio, of which the provider reports two. */
function transcription(more: Partial<ProvidedTranscription> = {}): ProvidedTranscription {
  const fate = { delayMs: 0, pieces: [], end: 'Usage', seconds: 2 } as const;
  return { n: 3, j: 0, fate, audioSeconds: 3, isEnded: true, ...more };
}

const billed = record({ input: 60 + 200, cached: 40, output: 30 + 100 });

describe('the reconciliation of sessions', () => {
  it('accepts what was reported, and what can have been seen of a response that was cut off', () => {
    assert.equal(findings(billed), '');
    assert.equal(findings(record({ input: 60 + 1, cached: 40, output: 30 })), '');
    const ended = [provided(0, 'Usage', {}), provided(1, 'Usage', { input: 70, cached: 0, output: 5_000 })];
    assert.equal(findings(record({ input: 130, cached: 40, output: 1_030 }), { responses: ended }), '');
  });

  it('finds a lost session, and accepts that a forgetful store loses it', () => {
    assert.match(findings(undefined), /it is lost/);
    assert.equal(findings(undefined, { isForgetful: true }), '');
  });

  it('finds a lost response, one that is billed twice, and tokens that nobody reported', () => {
    for (const tokens of [
      { input: 200, cached: 0, output: 100 },
      { input: 120 + 200, cached: 80, output: 60 + 100 },
      { input: 260, cached: 40, output: 131 },
      // the client has seen the beginning of the second one
      { input: 60, cached: 40, output: 30 },
    ])
      assert.match(findings(record(tokens)), /its tokens are none of/, JSON.stringify(tokens));
  });

  it('finds a nano-dollar too much, one too little, and one that is written off', () => {
    for (const by of [1n, -1n])
      assert.match(findings({ ...billed, costNanoUsd: billed.costNanoUsd + by }), /it costs \d+, and its tokens \d+/);
    assert.match(
      findings({ ...billed, costNanoUsd: billed.costNanoUsd - 1n, unbilledNanoUsd: 1n }),
      /1 nano-USD were written off/,
    );
  });

  it('adds what transcriptions cost, by what was reported or by their audio', () => {
    const { fate } = transcription();
    const cases: readonly [piece: ProvidedTranscription, seen: Partial<SessionLog>, seconds: readonly number[]][] = [
      [transcription(), { committed: [0], transcribed: [0] }, [2]],
      [transcription({ fate: { ...fate, end: 'NoUsage' } }), { committed: [0], transcribed: [0] }, [3]],
      [transcription({ fate: { ...fate, seconds: 86_400 } }), { committed: [0], transcribed: [0] }, [4]],
      [transcription({ fate: { ...fate, end: 'Failed' } }), { committed: [0], transcribed: [0] }, [0]],
      [transcription(), { committed: [0] }, [2, 3]],
      [transcription({ isEnded: false }), { committed: [0] }, [3]],
      [transcription({ isEnded: false }), {}, [0, 3]],
    ];
    for (const [piece, seen, seconds] of cases)
      for (const count of [0, 1, 2, 3, 4]) {
        const one = { ...billed, costNanoUsd: billed.costNanoUsd + transcriptionPrice(count) };
        const found = findings(one, { transcriptions: [piece], sessions: [{ ...session, ...seen }] });
        assert.equal(found === '', seconds.includes(count), `${count} s: ${found}`);
      }
    const one = { ...billed, costNanoUsd: billed.costNanoUsd + transcriptionPrice(2) + 1n };
    const sessions = [{ ...session, committed: [0], transcribed: [0] }];
    assert.match(findings(one, { transcriptions: [transcription()], sessions }), /it costs \d+, and its tokens \d+/);
  });

  it('accepts a session whose process was killed, which may have recorded none of what ran', () => {
    const abandoned = { ...record({ input: 60, cached: 40, output: 30 }), status: 'Abandoned' };
    assert.match(findings(abandoned), /nobody killed its gateway/);
    assert.equal(findings(abandoned, { happened: { ...QUIET, kills: [1_500] } }), '');
  });

  it('finds what a client was told for no reason', () => {
    const sessions = (more: Partial<SessionLog>): Partial<SessionEvidence> => ({ sessions: [{ ...session, ...more }] });
    assert.match(findings(billed, sessions({ hung: true })), /waited in vain/);
    assert.match(findings(undefined, sessions({ id: '', status: 503 })), /it was refused with 503/);
    assert.match(findings({ ...billed, status: 'Succeeded' }, sessions({ left: false })), /it was closed with 1006/);
    assert.match(findings(billed, sessions({ id: 'req_2' })), /nobody had it/);
  });
});

it('a seed decides the sessions', () => {
  assert.deepEqual(planSessions(7, 3), planSessions(7, 3));
  assert.notDeepEqual(planSessions(7, 3), planSessions(8, 3));
});
