/** POST /v1/embeddings: OpenAI's shape, on channels of its protocol. */
import type { FastifyInstance } from 'fastify';
import { readEmbeddings } from '../../pipeline/endpoints/embeddings.ts';
import type { ServerDeps } from '../deps.ts';
import { billed } from '../billed.ts';
import { PATHS } from '../paths.ts';

export function embeddings(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.embeddings.path, billed(deps, 'embeddings', readEmbeddings));
}
