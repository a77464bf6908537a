/** Plays the realtime sessions of a round, and checks them and the money of their keys afterwards. */
import { setTimeout as sleep } from 'node:timers/promises';
import { spentOf } from '../balance.ts';
import { diceOf } from '../dice.ts';
import { sumOfCosts } from '../ledger-file.ts';
import type { LedgerRecord } from '../ledger-file.ts';
import { keepsBooks } from '../store.ts';
import type { World } from '../world.ts';
import { talk } from './client.ts';
import type { SessionLog } from './client.ts';
import { SESSION_KEYS, SESSION_MODEL, sessionKeyString, sessionUid, TIGHT_LIMIT_NANO_USD } from './config.ts';
import type { SessionEvidence } from './judge.ts';
import { planSessions } from './plan.ts';

/** Resolves with the clients' logs, once all of them have ended. */
export async function playSessions(world: World, seed: number, round: number): Promise<readonly SessionLog[]> {
  world.sessions.startRound(seed, round);
  return Promise.all(
    planSessions(seed, round).map(async (plan) => {
      await sleep(plan.startMs);
      const member = diceOf('session member', seed, round, plan.n).int(world.members);
      return talk(await world.url(member), plan);
    }),
  );
}

export function isOfSession({ model }: Pick<LedgerRecord, 'model'>): boolean {
  return model === SESSION_MODEL;
}

/** Everything that is known of a round's sessions. `records`: of the round. */
export function sessionEvidence(
  { sessions: provider, happened, ledger }: World,
  sessions: readonly SessionLog[],
  records: readonly LedgerRecord[],
): SessionEvidence {
  const mine = records.filter(isOfSession);
  return {
    sessions,
    responses: provider.log,
    transcriptions: provider.transcriptions,
    records: mine,
    happened,
    isForgetful: !keepsBooks(ledger),
  };
}

/** Compares what the keys are told that they have spent with the sum of their records. `records`: of all rounds. */
export async function sessionBalance(world: World, records: readonly LedgerRecord[]): Promise<readonly string[]> {
  const url = await world.url(0);
  const told = SESSION_KEYS.map(async (key) => {
    const sum = sumOfCosts(records.filter((record) => record.key === sessionUid(key)));
    const spent = await spentOf(url, sessionKeyString(key));
    const isOver = key === 'tight' && sum > TIGHT_LIMIT_NANO_USD;
    return [
      ...(spent === sum ? [] : [`key ${key} has spent ${spent}, and its records add up to ${sum}`]),
      ...(isOver ? [`key ${key} has spent ${sum}, of ${TIGHT_LIMIT_NANO_USD}`] : []),
    ];
  });
  return (await Promise.all(told)).flat();
}
