/** Files of batches, which a provider keeps. They cost nothing; the batches that are made of them do. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { downloadFile, listFiles, requestFile, uploadFile } from '../../stored/files.ts';
import type { ClientRequest } from '../../stored/client-request.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { receive } from '../receive.ts';
import { serveReply } from '../serve-reply.ts';
import { exchangeOf, sendStored } from '../stored-reply.ts';
import { storedRequest } from '../stored-request.ts';

interface IdParams {
  Params: { readonly id: string };
}

const OPTIONS = { config: { endpoint: 'files' } } as const;

export function files(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.fileUpload.path, OPTIONS, async (request, reply) => {
    const received = receive(deps, { endpoint: 'files', request, reply, read: unread });
    const stored = storedFrom(deps, request, { reply, method: 'POST' });
    return sendStored(reply, await uploadFile(deps, stored, { received, ...callerOf(request) }));
  });
  app.get(PATHS.files.path, OPTIONS, (request, reply) =>
    listFiles(deps, storedFrom(deps, request, { reply, method: 'GET' })),
  );
  for (const { path, method } of [PATHS.file, PATHS.fileDeletion])
    app.route<IdParams>({
      ...OPTIONS,
      url: path,
      method,
      handler: async (request, reply) =>
        sendStored(reply, await requestFile(deps, storedFrom(deps, request, { reply, method }), request.params.id)),
    });
  app.get<IdParams>(
    PATHS.fileContent.path,
    OPTIONS,
    serveReply(deps, (request: FastifyRequest<IdParams>, reply, response) => {
      const line = { method: 'GET', below: '' } as const;
      const stored = storedRequest(deps, { request, response, left: reply.left }, line);
      return downloadFile(deps, stored, { sealedId: request.params.id, reply, headOnly: request.method === 'HEAD' });
    }),
  );
}

interface Line {
  readonly reply: FastifyReply;
  readonly method: ClientRequest['method'];
}

function storedFrom(deps: ServerDeps, request: FastifyRequest<object>, { reply, method }: Line): ClientRequest {
  return storedRequest(deps, exchangeOf(request, reply), { method, below: '' });
}

/** A file is read as a batch, not as a call. */
function unread(): never {
  throw new Error('an upload is no call');
}
