/**
 * Reads a new batch: finds the channels that take all of its requests, and what they cost there together, and writes the
 * requests anew for one of them.
 */
import { runBatchPart } from '../../body-worker/batch-tasks.ts';
import type { PlainPlan } from '../../body-worker/messages.ts';
import { GatewayError } from '../../errors.ts';
import { LineChunks } from '../../protocol/batches/line-chunks.ts';
import type { BatchEndpoint, BatchForm } from '../../protocol/batches/requests.ts';
import type { PlatformPlan } from '../../protocol/platforms/platform-request.ts';
import { spendingLimits } from '../../state/limits.ts';
import { sessionOf } from '../affinity.ts';
import { planRequest } from '../channel-call.ts';
import type { Authenticated, EndpointCall, PipelineDeps } from '../context.ts';
import { outOfMoney, readFunds } from '../out-of-money.ts';
import { clientErrorOf, route } from '../route.ts';
import { sealingContext } from '../sealing-context.ts';
import { BatchSum, checkWhole, noRequests } from './batch-sum.ts';
import type { BatchChannel } from './batch-sum.ts';
import { countRequests, readRequests } from './read-requests.ts';

export interface NewBatch {
  readonly authenticated: Authenticated;
  readonly form: BatchForm;
  /** One request per line. */
  readonly lines: Uint8Array;
}

/** The sums of a batch on the channels that take all of it, in the order in which they are tried. Rejects with GatewayError. */
export async function sumBatch(deps: PipelineDeps, { authenticated, form, lines }: NewBatch): Promise<BatchSum[]> {
  const { received, key } = authenticated;
  let sums: BatchSum[] | undefined;
  const reading = {
    received,
    keyUid: key.uid,
    form,
    // the body that they are a part of is held
    hold: () => undefined,
    take: async (call: EndpointCall, endpoint: BatchEndpoint): Promise<void> => {
      const { model } = call;
      if (sums?.some((sum) => sum.knows(model)) !== true && (!sums || form === 'Anthropic')) {
        const channels = await channelsFor(deps, { authenticated, form, call });
        sums = sums
          ? thatTake(sums, (sum) => sum.takeModel(model, channels))
          : channels.map((channel) => new BatchSum(channel));
      }
      sums = thatTake(sums, (sum) => sum.add(call, endpoint));
    },
  };
  await readRequests(deps, reading, [lines]);
  if (!sums) throw noRequests();
  return sums;
}

async function channelsFor(
  deps: PipelineDeps,
  { authenticated, form, call }: Omit<NewBatch, 'lines'> & { readonly call: EndpointCall },
): Promise<BatchChannel[]> {
  const { received, key } = authenticated;
  // or it would be made a part of the body, which is the whole batch
  checkWhole(call);
  const read = (): Promise<EndpointCall> => Promise.resolve(call);
  const { candidates, offer } = await route(deps, { ...authenticated, received: { ...received, read } });
  if (offer.quotaType === 'Request') throw perRequest(call.model);
  const state = deps.state.get();
  const channels = candidates
    .filter(({ target }) => target.protocol === form && target.endpoints.has('Batches'))
    .flatMap((candidate) => {
      const { price } = candidate;
      return price ? [{ candidate, price, key, state, form }] : [];
    });
  if (channels.length === 0) throw noBatches(call.model, form);
  return channels;
}

/** The sums of the channels that take the request too. Throws the reason if there are none. */
function thatTake(sums: readonly BatchSum[], add: (sum: BatchSum) => void): BatchSum[] {
  let reason: unknown;
  const taking = sums.filter((sum) => {
    try {
      add(sum);
      return true;
    } catch (error) {
      reason ??= error;
      return false;
    }
  });
  if (taking.length === 0) throw reason;
  return taking;
}

/** The same lines as the sum's channel gets them. Rejects with GatewayError. */
export async function writeBatch(deps: PipelineDeps, batch: NewBatch, sum: BatchSum): Promise<Uint8Array> {
  const { form, lines, authenticated } = batch;
  const { key } = authenticated;
  const { protocol } = sum.channel.candidate.target;
  const plans = sum.channels.map((channel) => planOf(deps, batch, channel));
  const chunks = new LineChunks();
  const written: Uint8Array[] = [];
  let before = 0;
  for (const chunk of [...chunks.push(lines), chunks.end()]) {
    const after = before + countRequests(chunk);
    const task = { task: 'WriteLines', form, protocol, plans, lines: sum.lines.slice(before, after) } as const;
    try {
      written.push(await runBatchPart(deps.bodyWorker, key.uid, task, chunk));
    } catch (error) {
      throw clientErrorOf(error);
    }
    before = after;
  }
  return Buffer.concat(written);
}

function planOf(deps: PipelineDeps, { authenticated }: NewBatch, { candidate }: BatchChannel): PlainPlan {
  const { received, key } = authenticated;
  const { outputLimitField, capabilities, providerTools } = candidate.model;
  const sender = { headers: received.headers, account: key.account, stream: false };
  const platform: PlatformPlan | undefined = planRequest(deps, candidate, sender).platform;
  return {
    upstreamModel: candidate.upstreamModel,
    maxOutputTokens: undefined,
    stream: false,
    outputLimitField,
    capabilities,
    providerTools,
    session: sessionOf(received),
    sealing: sealingContext(deps.state.get(), key, candidate),
    platform,
  };
}

/** Rejects with the refusal if the batch costs more than the key or its account has left, whatever else runs. */
export async function checkAffordable(
  deps: PipelineDeps,
  { key, keyHash }: Authenticated,
  costNanoUsd: bigint,
): Promise<void> {
  const limits = spendingLimits(deps.state.get(), { key, keyHash });
  if (!limits) return;
  for (const funds of await readFunds(deps, key, limits)) {
    const freeNanoUsd = funds.limitNanoUsd - funds.spentNanoUsd;
    if (costNanoUsd === 0n || costNanoUsd <= freeNanoUsd) continue;
    const whole = { costNanoUsd, neededNanoUsd: costNanoUsd, fittingOutput: undefined, thinkingBudget: undefined };
    throw outOfMoney(funds, { ...whole, freeNanoUsd });
  }
}

function noBatches(model: string, form: BatchForm): GatewayError {
  const instead =
    form === 'OpenAI'
      ? 'Send its requests one by one, or ask the platform team for a channel of protocol OpenAI with the endpoint Batches.'
      : 'Send its requests one by one, or ask the platform team for a channel of protocol Anthropic with the endpoint Batches.';
  return new GatewayError('unsupported_parameter', `No provider of "${model}" takes batches of this kind. ${instead}`, {
    param: 'model',
  });
}

/** The error for a model whose price has no sum over requests of different sizes. */
export function perRequest(model: string): GatewayError {
  const message = `The model "${model}" is priced per request, and batches need a price per token. Send its requests one by one.`;
  return new GatewayError('unsupported_parameter', message, { param: 'model' });
}
