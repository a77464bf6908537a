/**
 * A call that names a conversation which the gateway keeps is a turn of it: the conversation's items become a part of the
 * request, and once the response is whole, the request's own input and the output are added, in one step.
 */
import { GatewayError } from '../errors.ts';
import { MAX_CONVERSATION_BYTES, MAX_GROWN_BYTES } from '../kept/kept-conversations.ts';
import type { KeptConversations } from '../kept/kept-conversations.ts';
import { NotKept, READING_FACTOR } from '../kept/kept-values.ts';
import type { Keys } from '../kept/kept-values.ts';
import { HeldBytes, LARGE_BODY_BYTES } from '../memory-budget.ts';
import { memberBytes } from '../protocol/json-edit.ts';
import { itemsOfConversation, workOnConversation } from '../protocol/openai/kept-conversation.ts';
import type { ConversationWork, WorkedConversation } from '../protocol/openai/kept-conversation.ts';
import { unkeptState } from '../protocol/openai/response-facts.ts';
import type { State } from '../state/state.ts';
import type { Authenticated, CallOutcome, CallRecord, ConversationTurn, PipelineDeps, Routed } from './context.ts';
import { responseIn } from './keep-response.ts';

const PARAM = 'conversation';

/** The conversations that the gateway keeps, and the keys for them. */
export interface KeptAccess {
  readonly conversations: KeptConversations;
  readonly keys: Keys;
}

/** Undefined: the gateway keeps none. */
export function keepingOf({ kept }: Pick<PipelineDeps, 'kept'>, { sealingKeys }: State): KeptAccess | undefined {
  return kept && sealingKeys && { conversations: kept.conversations, keys: sealingKeys.reveal() };
}

/** Does work that takes long on the other thread. Rejects with RequestFault, or a refusal for lack of room there. */
export async function runConversationWork(
  { bodyWorker }: Pick<PipelineDeps, 'bodyWorker'>,
  key: string,
  { bytes, work }: { readonly bytes: Uint8Array; readonly work: ConversationWork },
): Promise<WorkedConversation> {
  if (bytes.length + sizeOf(work) < LARGE_BODY_BYTES) return workOnConversation(bytes, work);
  return bodyWorker.run(key, { task: 'WorkOnConversation', work }, bytes);
}

function sizeOf(work: ConversationWork): number {
  if ('request' in work) return work.request.length;
  return 'lists' in work ? work.lists.reduce((sum, { length }) => sum + length, 0) : 0;
}

/**
 * Puts the conversation's items before the request's own. Rejects with unsupported_parameter if the account has no such
 * conversation here, invalid_request if it is full, a refusal for lack of memory, and LedgerUnavailable.
 */
export async function beginTurn(
  deps: Pick<PipelineDeps, 'kept' | 'state' | 'memory'>,
  { key, received: { body } }: Authenticated,
  id: string,
): Promise<ConversationTurn> {
  const keeping = keepingOf(deps, deps.state.get());
  if (!keeping) throw unkeptState(PARAM);
  const { conversations, keys } = keeping;
  const held = new HeldBytes(deps.memory, key);
  try {
    let readingBytes = 0;
    const hold = (bytes: number): void => {
      readingBytes = bytes;
      held.set(bytes);
    };
    const found = await conversations.read({ account: key.account, id }, { keys, hold });
    if (!found) throw noSuchConversation();
    checkSize(found.length + body.bytes.length);
    const own = await body.continueFrom({ input: itemsOfConversation(found) }, () => held.set(0));
    held.set(body.bytes.length);
    return { id, own, readingBytes };
  } catch (error) {
    held.set(0);
    throw error;
  }
}

/** Throws invalid_request for a conversation that may have no more items. */
export function checkSize(bytes: number): void {
  if (bytes <= MAX_CONVERSATION_BYTES) return;
  const message =
    `The conversation has more than ${MAX_CONVERSATION_BYTES / 2 ** 20} MiB with this request. Delete some of its items ` +
    '(DELETE /v1/conversations/{id}/items/{item}), or begin a new one.';
  throw new GatewayError('invalid_request', message, { param: PARAM });
}

/** The GatewayError where a conversation has no place; any other error as it is. */
export function roomErrorOf(error: unknown): unknown {
  if (!(error instanceof NotKept)) return error;
  return new GatewayError(
    'too_many_conversations',
    `The conversation could not be kept: ${error.message}. Delete some (DELETE /v1/conversations/{id}), or send whole ` +
      'conversations in "input".',
  );
}

function noSuchConversation(): GatewayError {
  const message =
    'This account has no such conversation here: it was deleted, or has expired. Make one with POST ' +
    '/v1/conversations, or send the whole conversation in "input".';
  return new GatewayError('unsupported_parameter', message, { param: PARAM });
}

/**
 * Holds the turn's own input, and the memory that adding it takes, until the call's end. Throws a refusal where there is
 * no room, because the turn would be lost.
 */
export function holdTurn(deps: Pick<PipelineDeps, 'memory'>, record: CallRecord, { key, turn }: Routed): void {
  if (!turn || record.turn) return;
  const held = new HeldBytes(deps.memory, key);
  held.set(bytesOfAdding(turn));
  record.turn = { ...turn, own: Buffer.from(turn.own), held };
}

/** The turn's own input is held besides. */
function bytesOfAdding({ own, readingBytes }: ConversationTurn): number {
  return own.length + readingBytes + READING_FACTOR * own.length;
}

/** Resolves once the turn is a part of its conversation. Never rejects: the client gets its response in any case. */
export async function addTurn(deps: PipelineDeps, record: CallRecord, outcome: CallOutcome): Promise<void> {
  const { turn, routed, received } = record;
  if (!turn || !routed) return;
  try {
    await add(deps, { turn, routed, received }, outcome);
  } catch (error) {
    deps.lostTurn(received.requestId, turn.id, error);
  } finally {
    turn.held.set(0);
    record.turn = undefined;
  }
}

/** A call that is a turn of a conversation. */
interface Turn {
  readonly turn: NonNullable<CallRecord['turn']>;
  readonly routed: Routed;
  readonly received: CallRecord['received'];
}

async function add(deps: PipelineDeps, { turn, routed, received }: Turn, outcome: CallOutcome): Promise<void> {
  const response = responseIn(outcome);
  if (!response && outcome.kind === 'Streamed')
    throw new NotKept('the response has no end that can be read, or is too large');
  const keeping = keepingOf(deps, deps.state.get());
  if (!response || !keeping) return;
  const { conversations, keys } = keeping;
  const { key } = routed;
  const output = outputOf(response);
  if (!output) return;
  // items of the output have ids of the request already
  const suffix = `${received.requestId.replace(/^req_/, '')}_input`;
  const work = { work: 'AddTurn', suffix, lists: [turn.own, output] } as const;
  let { readingBytes: heldBytes } = turn;
  const hold = (bytes: number): void => {
    // others may have added to it meanwhile
    if (bytes <= heldBytes) return;
    turn.held.set(bytesOfAdding({ ...turn, readingBytes: bytes }));
    heldBytes = bytes;
  };
  await conversations.change({ account: key.account, id: turn.id }, { keys, hold }, async (bytes) => {
    const { conversation = bytes } = await runConversationWork(deps, key.uid, { bytes, work });
    if (conversation.length > MAX_GROWN_BYTES) throw tooLarge();
    return { conversation, result: true };
  });
}

/** Undefined: the response has failed. */
function outputOf(response: Uint8Array): Uint8Array | undefined {
  const status = memberBytes(response, 'status');
  const hasEnded = status === undefined || ENDED.has(Buffer.from(status).toString());
  return hasEnded ? memberBytes(response, 'output') : undefined;
}

const ENDED: ReadonlySet<string> = new Set(['"completed"', '"incomplete"']);

function tooLarge(): NotKept {
  return new NotKept(`with this turn the conversation is larger than ${MAX_GROWN_BYTES / 2 ** 20} MiB`);
}
