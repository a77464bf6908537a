/** POST /v1/images/generations: OpenAI's shape, priced per image. */
import type { FastifyInstance } from 'fastify';
import { readImages } from '../../pipeline/endpoints/images.ts';
import type { ServerDeps } from '../deps.ts';
import { billed } from '../billed.ts';
import { PATHS } from '../paths.ts';

export function images(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.images.path, billed(deps, 'images', readImages));
}
