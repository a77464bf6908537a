/** Plays the batches of a round: creates them, waits until each has ended, and checks the key's money. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWER_MS } from '../admin.ts';
import { spentOf } from '../balance.ts';
import { diceOf } from '../dice.ts';
import { sumOfCosts } from '../ledger-file.ts';
import type { LedgerRecord } from '../ledger-file.ts';
import { keepsBooks } from '../store.ts';
import type { World } from '../world.ts';
import { BATCH_KEY, BATCH_KEY_UID, BATCH_MODELS, BATCH_OUTPUT_TOKENS } from './config.ts';
import type { BatchEvidence, BatchLog } from './judge.ts';
import { planBatches } from './plan.ts';
import type { BatchPlan } from './plan.ts';

/** Longer than a gateway stands still, and than a killed one keeps the jobs that it has claimed. */
const END_MS = 100_000;
const LOOK_MS = 500;
/** Repeated, because a batch without a client may end between the two figures. */
const READINGS = 5;
const HEADERS = { authorization: `Bearer ${BATCH_KEY}`, 'anthropic-version': '2023-06-01' };
const PATHS = { OpenAI: '/v1/batches', Anthropic: '/v1/messages/batches' } as const;

/** Resolves with the clients' logs, once all batches that were created have ended. */
export async function playBatches(world: World, seed: number, round: number): Promise<readonly BatchLog[]> {
  const over = new AbortController();
  const plans = planBatches(seed, round);
  const ending = plans.map((plan) => world.batches.end(plan, over.signal));
  const play = async (plan: BatchPlan): Promise<Omit<BatchLog, 'created'>> => {
    const member = diceOf('batch member', seed, round, plan.n).int(world.members);
    await sleep(plan.startMs);
    const created = await create(await world.url(member), plan);
    const hasEnded =
      created.id !== '' && (await waitUntilEnded(world, { member, path: `${PATHS[plan.protocol]}/${created.id}` }));
    return { plan, callId: created.callId, status: created.status, hasEnded };
  };
  const logs = await Promise.all(plans.map(play));
  over.abort();
  await Promise.all(ending);
  return logs.map((log) => ({ ...log, created: world.batches.created(log.plan) }));
}

interface Created {
  readonly status: number;
  readonly callId: string;
  /** As the gateway names it; '': it was not created. */
  readonly id: string;
}

const NOT_CREATED: Created = { status: 0, callId: '', id: '' };

async function create(url: string, plan: BatchPlan): Promise<Created> {
  try {
    const body = plan.protocol === 'OpenAI' ? await uploaded(url, plan) : { requests: plan.ids.map(messageRequest) };
    if (body === undefined) return NOT_CREATED;
    const response = await fetch(url + PATHS[plan.protocol], {
      method: 'POST',
      headers: { ...HEADERS, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(END_MS),
    });
    const callId = response.headers.get('x-request-id') ?? '';
    const { id } = (await response.json()) as { readonly id?: string };
    return { status: response.status, callId, id: response.status === 200 ? (id ?? '') : '' };
  } catch {
    // the gateway was killed
    return NOT_CREATED;
  }
}

/** The body of a batch whose requests are uploaded; undefined: the upload failed. */
async function uploaded(url: string, { ids }: BatchPlan): Promise<object | undefined> {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([ids.map((id) => `${JSON.stringify(chatRequest(id))}\n`).join('')]), 'requests.jsonl');
  const signal = AbortSignal.timeout(END_MS);
  const response = await fetch(`${url}/v1/files`, { method: 'POST', headers: HEADERS, body: form, signal });
  const { id } = (await response.json()) as { readonly id?: string };
  if (id === undefined) return undefined;
  return { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
}

const MESSAGES = [{ role: 'user', content: 'hello, this is a request of a batch in chaos' }];

function chatRequest(id: string): object {
  const body = { model: BATCH_MODELS.OpenAI, messages: MESSAGES, max_tokens: BATCH_OUTPUT_TOKENS };
  return { custom_id: id, method: 'POST', url: '/v1/chat/completions', body };
}

function messageRequest(id: string): object {
  const params = { model: BATCH_MODELS.Anthropic, messages: MESSAGES, max_tokens: BATCH_OUTPUT_TOKENS };
  return { custom_id: id, params };
}

/** Asks the gateway that created the batch: the others cannot read its ids here. */
async function waitUntilEnded(
  world: World,
  { member, path }: { readonly member: number; readonly path: string },
): Promise<boolean> {
  const untilMs = Date.now() + END_MS;
  while (Date.now() < untilMs) {
    await sleep(LOOK_MS);
    if (await hasEnded((await world.url(member)) + path)) return true;
  }
  return false;
}

async function hasEnded(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { headers: HEADERS, signal: AbortSignal.timeout(ANSWER_MS) });
    const body = (await response.json()) as { readonly processing_status?: string; readonly status?: string };
    return body.processing_status === 'ended' || ['completed', 'expired', 'cancelled'].includes(body.status ?? '');
  } catch {
    // the gateway was killed, or stands still
    return false;
  }
}

export function isOfBatch({ key }: Pick<LedgerRecord, 'key'>): boolean {
  return key === BATCH_KEY_UID;
}

/** Everything that is known of a round's batches. `records`: of the round. */
export function batchEvidence(
  { happened, ledger }: World,
  batches: readonly BatchLog[],
  records: readonly LedgerRecord[],
): BatchEvidence {
  return { batches, records: records.filter(isOfBatch), happened, isForgetful: !keepsBooks(ledger) };
}

/** Compares what the key is told that it has spent with the sum of its records. */
export async function batchBalance(world: World): Promise<readonly string[]> {
  let complaint = '';
  for (let reading = 0; reading < READINGS; reading++) {
    const spent = await spentOf(await world.url(0), BATCH_KEY);
    const records = await world.books.records();
    const sum = sumOfCosts(records.filter(isOfBatch));
    if (spent === sum) return [];
    complaint = `the key of batches has spent ${spent}, and its records add up to ${sum}`;
    await sleep(LOOK_MS);
  }
  return [complaint];
}
