/** Keeps responses that the gateway writes itself, where the platform wants it, so that later calls continue them. */
import { MAX_KEPT_BYTES } from '../kept/kept-responses.ts';
import { HeldBytes } from '../memory-budget.ts';
import type { ResponseStorage } from '../protocol/converter.ts';
import { memberBytes } from '../protocol/json-edit.ts';
import { ownResponseId } from '../protocol/openai/continued-input.ts';
import { lastEventData } from '../protocol/sse.ts';
import type { KeyState } from '../state/state.ts';
import type { CallOutcome, CallRecord, PipelineDeps, Routed } from './context.ts';

/** What a response to this call says of its storage. */
export function storageOf(
  { kept, state }: Pick<PipelineDeps, 'kept' | 'state'>,
  { call, continues, turn, received: { body } }: Routed,
): ResponseStorage | undefined {
  const mayBeKept = call.mayBeKept === true && body.bytes.length <= MAX_KEPT_BYTES;
  const isKept = mayBeKept && kept !== undefined && state.get().sealingKeys !== undefined;
  if (!isKept && continues === undefined && !turn) return undefined;
  return { isKept, previousId: continues, conversationId: turn?.id };
}

interface HeldInput {
  readonly key: KeyState;
  /** Undefined: the response of this attempt is not kept. */
  readonly input: string | undefined;
}

/**
 * Holds the input until the response is whole, since the body is dropped before. Without memory for it the call is
 * served, and its response not kept.
 */
export function holdInput(deps: PipelineDeps, record: CallRecord, { key, input }: HeldInput): void {
  releaseInput(record);
  if (input === undefined) return;
  const bytes = Buffer.from(input);
  const held = new HeldBytes(deps.memory, key);
  // the notes of the conversion have it, too
  try {
    held.set(2 * bytes.length);
    record.keeping = { input: bytes, held };
  } catch (error) {
    deps.unkept(record.received.requestId, error);
  }
}

function releaseInput(record: CallRecord): void {
  record.keeping?.held.set(0);
  record.keeping = undefined;
}

/** Resolves once the response is kept, if it is to be. Never rejects: the client gets its response in any case. */
export async function keepResponse(deps: PipelineDeps, record: CallRecord, outcome: CallOutcome): Promise<void> {
  try {
    await keep(deps, record, outcome);
  } catch (error) {
    deps.unkept(record.received.requestId, error);
  } finally {
    releaseInput(record);
  }
}

async function keep(
  { kept, state }: PipelineDeps,
  { keeping, routed }: CallRecord,
  outcome: CallOutcome,
): Promise<void> {
  const response = keeping && responseIn(outcome);
  const id = response && idOf(response);
  const keys = state.get().sealingKeys;
  if (!keeping || !routed || !response || id === undefined || !keys) return;
  const { key, call } = routed;
  await kept?.keep({ account: key.account, id }, { model: call.model, input: keeping.input, response }, keys.reveal());
}

/** The whole response; undefined: it has failed, or its client has left. */
export function responseIn(outcome: CallOutcome): Uint8Array | undefined {
  if (outcome.kind === 'Buffered') return outcome.failed ? undefined : outcome.body;
  if (outcome.kind !== 'Streamed') return undefined;
  const data = lastEventData(outcome.last);
  return data && memberBytes(data, 'response');
}

function idOf(response: Uint8Array): string | undefined {
  const id = memberBytes(response, 'id');
  return id && ownResponseId(JSON.parse(Buffer.from(id).toString()));
}
