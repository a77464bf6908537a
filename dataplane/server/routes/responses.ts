/** POST /v1/responses: OpenAI's responses, on channels of its protocol. */
import type { FastifyInstance } from 'fastify';
import { readResponse } from '../../pipeline/endpoints/responses.ts';
import type { ServerDeps } from '../deps.ts';
import { billed } from '../billed.ts';
import { PATHS } from '../paths.ts';

export function responses(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.responses.path, billed(deps, 'responses', readResponse));
}
