/** Serves clients' requests about responses that the gateway itself keeps. No provider is asked. */
import { GatewayError } from '../errors.ts';
import { LARGE_BODY_BYTES } from '../memory-budget.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { findKept } from '../pipeline/continue-response.ts';
import { withLimits } from '../pipeline/free-request.ts';
import { clientErrorOf } from '../pipeline/route.ts';
import { asBuffer } from '../protocol/bytes.ts';
import { writeItemList } from '../protocol/openai/input-items.ts';
import { callerLimits } from '../state/limits.ts';
import type { ClientRequest } from './client-request.ts';
import type { BufferedResponse } from './respond.ts';

interface OwnResponse {
  readonly id: string;
  /** The error if the account has none with this id. */
  readonly missing: GatewayError;
}

/**
 * Returns the response, its input items, or what its deletion says. Throws `missing`, invalid_request for what such a
 * response cannot do, the errors of limits, and LedgerUnavailable.
 */
export function requestOwnResponse(
  deps: PipelineDeps,
  request: ClientRequest,
  own: OwnResponse,
): Promise<BufferedResponse> {
  const { requestId, key, errorDialect, below, method } = request;
  if (below === '/cancel')
    throw new GatewayError('invalid_request', 'Only a response in the background can be cancelled.');
  const free = { callId: requestId, dialect: errorDialect };
  return withLimits(deps, free, callerLimits(deps.state.get(), key), async () => {
    const found = await findKept(deps, key, { id: own.id, hold: request.hold });
    if (!found) throw own.missing;
    if (method === 'DELETE') return deleted(deps, request, own);
    return whole(
      below === '/input_items' ? await itemList(deps, request, { ...own, items: found.input }) : found.response,
    );
  });
}

async function deleted(
  deps: PipelineDeps,
  { key }: ClientRequest,
  { id, missing }: OwnResponse,
): Promise<BufferedResponse> {
  if (!(await deps.kept?.delete({ account: key.account, id }))) throw missing;
  return whole(Buffer.from(JSON.stringify({ id, object: 'response', deleted: true })));
}

function whole(body: Uint8Array): BufferedResponse {
  return { response: { status: 200, headers: {} }, body: asBuffer(body) };
}

/** A long one is written on the other thread. */
async function itemList(
  { bodyWorker }: PipelineDeps,
  { key, query }: ClientRequest,
  { id: responseId, items }: OwnResponse & { readonly items: Uint8Array },
): Promise<Uint8Array> {
  const asked = { responseId, query };
  try {
    if (items.length < LARGE_BODY_BYTES) return writeItemList(items, asked);
    return await bodyWorker.run(key.uid, { task: 'ListItems', asked }, items);
  } catch (error) {
    throw clientErrorOf(error);
  }
}
