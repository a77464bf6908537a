/** Serves clients' requests about conversations that the gateway itself keeps. No provider is asked. */
import { randomBytes } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { checkSize, keepingOf, roomErrorOf, runConversationWork } from '../pipeline/conversation-turn.ts';
import type { KeptAccess } from '../pipeline/conversation-turn.ts';
import { withLimits } from '../pipeline/free-request.ts';
import type { RequestBody } from '../pipeline/request-body.ts';
import { clientErrorOf } from '../pipeline/route.ts';
import { asBuffer } from '../protocol/bytes.ts';
import type { ConversationWork } from '../protocol/openai/kept-conversation.ts';
import { callerLimits } from '../state/limits.ts';
import type { ClientRequest } from './client-request.ts';
import type { BufferedResponse } from './respond.ts';

export interface ConversationRequest extends ClientRequest {
  /** Undefined: the request has none. */
  readonly body: RequestBody | undefined;
}

export interface ConversationResponse extends BufferedResponse {
  /** Paths of fields that the provider was not sent; empty: it was sent all of them. */
  readonly dropped: readonly string[];
}

interface OwnConversation {
  readonly id: string;
  /** The error if the account has none with this id. */
  readonly missing: GatewayError;
}

const ID_BYTES = 16;
const NO_BODY = Buffer.from('{}');
const ITEMS = '/items';

/** Throws invalid_request, too_many_conversations if there is no room, the errors of limits, and LedgerUnavailable. */
export function createOwnConversation(deps: PipelineDeps, request: ConversationRequest): Promise<ConversationResponse> {
  return serve(deps, request, async ({ conversations, keys }) => {
    const { key } = request;
    const bytes = bodyOf(request);
    checkSize(bytes.length);
    const id = `conv_${randomHex()}`;
    const createdSeconds = Math.floor(deps.clock.nowMs() / 1000);
    const work = { work: 'Create', id, suffix: randomHex(), createdSeconds } as const;
    const { conversation, body } = await runConversationWork(deps, key.uid, { bytes, work });
    if (conversation) await conversations.create({ account: key.account, id }, conversation, keys);
    return body;
  });
}

/** Returns what the request asks for. Throws `missing`, and the same as createOwnConversation. */
export function requestOwnConversation(
  deps: PipelineDeps,
  request: ConversationRequest,
  own: OwnConversation,
): Promise<ConversationResponse> {
  return serve(deps, request, async ({ conversations, keys }) => {
    const { key, method, below, hold, body: given } = request;
    await given?.facts('StoredConversation');
    const place = { account: key.account, id: own.id };
    if (method === 'DELETE' && below === '') {
      if (!(await conversations.delete(place))) throw own.missing;
      return Buffer.from(JSON.stringify({ id: own.id, object: 'conversation.deleted', deleted: true }));
    }
    const work = workOf(request, own.id);
    if (method === 'GET') {
      const bytes = await conversations.read(place, { keys, hold });
      if (!bytes) throw own.missing;
      return (await runConversationWork(deps, key.uid, { bytes, work })).body;
    }
    const changed = await conversations.change(place, { keys, hold }, async (bytes) => {
      if (work.work === 'Add') checkSize(bytes.length + work.request.length);
      const { conversation = bytes, body } = await runConversationWork(deps, key.uid, { bytes, work });
      return { conversation, result: { body } };
    });
    if (!changed) throw own.missing;
    return changed.body;
  });
}

/** Runs the work within the caller's limits. Undefined: there is no such item. */
async function serve(
  deps: PipelineDeps,
  { requestId, key, errorDialect }: ConversationRequest,
  work: (kept: KeptAccess) => Promise<Uint8Array | undefined>,
): Promise<ConversationResponse> {
  const state = deps.state.get();
  const keeping = keepingOf(deps, state);
  if (!keeping) throw new Error('a conversation of the gateway where it keeps none');
  const free = { callId: requestId, dialect: errorDialect };
  try {
    const body = await withLimits(deps, free, callerLimits(state, key), () => work(keeping));
    if (!body) throw new GatewayError('not_found', 'The conversation has no such item.');
    return { response: { status: 200, headers: {} }, body: asBuffer(body), dropped: [] };
  } catch (error) {
    throw clientErrorOf(roomErrorOf(error));
  }
}

function workOf(request: ConversationRequest, id: string): ConversationWork {
  const { method, below, query } = request;
  if (below === '')
    return method === 'GET' ? { work: 'Describe', id } : { work: 'Update', id, request: bodyOf(request) };
  if (below === ITEMS)
    return method === 'GET' ? { work: 'List', query } : { work: 'Add', suffix: randomHex(), request: bodyOf(request) };
  const item = below.slice(ITEMS.length + 1);
  return method === 'GET' ? { work: 'Item', item } : { work: 'Remove', id, item };
}

function bodyOf({ body }: ConversationRequest): Buffer {
  return body?.bytes ?? NO_BODY;
}

function randomHex(): string {
  return randomBytes(ID_BYTES).toString('hex');
}
