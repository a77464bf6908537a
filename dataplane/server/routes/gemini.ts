/** Google's methods of models, of which the newest SDKs call some below /v1. */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { EndpointCall, Received } from '../../pipeline/context.ts';
import { authenticate } from '../../pipeline/authenticate.ts';
import { countTokens } from '../../pipeline/count-tokens.ts';
import { readerOf } from '../../pipeline/endpoints/endpoint.ts';
import { embedContents, predict } from '../../pipeline/endpoints/gemini-methods.ts';
import { generateContent } from '../../pipeline/endpoints/gemini.ts';
import type { EndpointName } from '../../telemetry/call-report.ts';
import type { ServerDeps } from '../deps.ts';
import { readGeminiCall } from '../gemini-path.ts';
import { notFound } from '../not-found.ts';
import { PATHS } from '../paths.ts';
import { receive } from '../receive.ts';
import { firstOf } from '../views/gemini-models.ts';
import type { Query } from '../views/gemini-models.ts';
import { serve } from './billed.ts';

type CallRequest = FastifyRequest<{ Params: { readonly '*': string }; Querystring: Query }>;

/** Calls. Their methods are in the path, behind a model's name of any form, so that one route has them all. */
export const gemini: FastifyPluginCallback<ServerDeps> = (app, deps, done) => {
  const handler = (request: CallRequest, reply: FastifyReply): FastifyReply | Promise<object> => {
    const { model, method } = readGeminiCall(request.params['*']) ?? { model: '', method: '' };
    switch (method) {
      case 'generateContent':
        return generate(deps, { request, reply }, { model, stream: false });
      case 'streamGenerateContent':
        return generate(deps, { request, reply }, { model, stream: true });
      case 'embedContent':
        return bill(deps, { request, reply }, 'embed_content', readerOf(embedContents('GeminiEmbed', model)));
      case 'batchEmbedContents':
        return bill(deps, { request, reply }, 'embed_content', readerOf(embedContents('GeminiBatchEmbed', model)));
      case 'predict':
        return bill(deps, { request, reply }, 'predict', readerOf(predict(model)));
      case 'countTokens':
        return count(deps, { request, reply }, model);
      default:
        throw notFound(request.method, request.url);
    }
  };
  for (const { path } of [PATHS.geminiCall, PATHS.geminiCallV1]) app.post(path, handler);
  done();
};

type Exchange = { readonly request: CallRequest; readonly reply: FastifyReply };

function generate(
  deps: ServerDeps,
  { request, reply }: Exchange,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): FastifyReply {
  const isArray = stream && firstOf(request.query['alt']) !== 'sse';
  return bill(deps, { request, reply }, 'generate_content', readerOf(generateContent({ model, stream, isArray })));
}

/** Serves a call that costs money. */
function bill(
  deps: ServerDeps,
  { request, reply }: Exchange,
  endpoint: EndpointName,
  read: (received: Received) => Promise<EndpointCall>,
): FastifyReply {
  reply.hijack();
  void serve(deps, receive(deps, { endpoint, request, reply, read }));
  return reply;
}

async function count(deps: ServerDeps, { request, reply }: Exchange, model: string): Promise<object> {
  request.endpoint = 'count_tokens';
  const received = receive(deps, {
    endpoint: 'count_tokens',
    request,
    reply,
    read: readerOf(generateContent({ model, stream: false, isArray: false }, 'GeminiCount')),
  });
  const attempts = (request.attempts = []);
  const { inputTokens, estimated } = await countTokens(deps, authenticate(deps, received), {
    dialect: 'Gemini',
    attempts,
  });
  if (estimated) void reply.header('x-modelgateway-usage', 'estimated');
  return { totalTokens: inputTokens };
}
