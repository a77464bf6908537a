/** Batches that exist, of both dialects; their creation is a call that costs money. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BatchForm } from '../../protocol/batches/requests.ts';
import { deleteBatch, listBatches, requestBatch, streamResults } from '../../stored/batches.ts';
import type { BatchRequest } from '../../stored/batches.ts';
import type { BufferedResponse } from '../../stored/respond.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import type { PathRow } from '../paths.ts';
import { serveReply } from '../serve-reply.ts';
import { exchangeOf, sendStored } from '../stored-reply.ts';
import { storedRequest } from '../stored-request.ts';
import type { StoredExchange } from '../stored-request.ts';

interface IdParams {
  Params: { readonly id: string };
}

type Use = (deps: ServerDeps, request: BatchRequest, id: string) => Promise<BufferedResponse>;

interface Dialect {
  readonly form: BatchForm;
  readonly endpoint: 'batches' | 'message_batches';
}

const OPENAI: Dialect = { form: 'OpenAI', endpoint: 'batches' };
const ANTHROPIC: Dialect = { form: 'Anthropic', endpoint: 'message_batches' };

/** Of one batch: its path, what follows its id at the provider, and what is done. */
const LINES: readonly (readonly [Dialect, PathRow, below: string, Use])[] = [
  [OPENAI, PATHS.batch, '', requestBatch],
  [OPENAI, PATHS.batchCancellation, '/cancel', requestBatch],
  [ANTHROPIC, PATHS.messageBatch, '', requestBatch],
  [ANTHROPIC, PATHS.messageBatchCancellation, '/cancel', requestBatch],
  [ANTHROPIC, PATHS.messageBatchDeletion, '', deleteBatch],
];

export function batches(app: FastifyInstance, deps: ServerDeps): void {
  for (const [dialect, { path: url, method }, below, use] of LINES)
    app.route<IdParams>({
      url,
      method,
      config: { endpoint: dialect.endpoint },
      handler: async (request, reply) => {
        const line = { ...dialect, method, below };
        return sendStored(
          reply,
          await use(deps, batchRequest(deps, exchangeOf(request, reply), line), request.params.id),
        );
      },
    });
  for (const [dialect, { path }] of [
    [OPENAI, PATHS.batches],
    [ANTHROPIC, PATHS.messageBatches],
  ] as const)
    app.get(path, { config: { endpoint: dialect.endpoint } }, (request, reply) =>
      listBatches(deps, batchRequest(deps, exchangeOf(request, reply), { ...dialect, method: 'GET', below: '' })),
    );
  app.get<IdParams>(
    PATHS.messageBatchResults.path,
    { config: { endpoint: ANTHROPIC.endpoint } },
    serveReply(deps, (request: FastifyRequest<IdParams>, reply, response) => {
      const line = { ...ANTHROPIC, method: 'GET', below: '' } as const;
      const asked = batchRequest(deps, { request, response, left: reply.left }, line);
      return streamResults(deps, asked, { sealedId: request.params.id, reply, headOnly: request.method === 'HEAD' });
    }),
  );
}

type Line = Dialect & Pick<BatchRequest, 'method' | 'below'>;

function batchRequest(deps: ServerDeps, exchange: StoredExchange, { form, method, below }: Line): BatchRequest {
  return { ...storedRequest(deps, exchange, { method, below }), form, address: addressOf(exchange.request) };
}

/** What the client has called, which a proxy before the gateway may have reached in another way. */
function addressOf({ headers, protocol, host }: FastifyRequest<object>): string {
  // several proxies make a list, which begins with what the client called
  const [forwarded] = [headers['x-forwarded-proto']]
    .flat()
    .join(',')
    .split(',', 1)
    .map((each) => each.trim());
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : protocol;
  return `${scheme}://${host}`;
}
