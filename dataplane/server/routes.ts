/** Every route in one place; each file in routes/ is one endpoint. */
import type { FastifyInstance } from 'fastify';
import { billed } from './billed.ts';
import type { BilledRoute } from './billed.ts';
import type { ServerDeps } from './deps.ts';
import { chatCompletions } from './routes/chat-completions.ts';
import { countTokens } from './routes/count-tokens.ts';
import { embeddings } from './routes/embeddings.ts';
import { images } from './routes/images.ts';
import { key } from './routes/key.ts';
import { messages } from './routes/messages.ts';
import { models } from './routes/models.ts';
import { pricing } from './routes/pricing.ts';
import { responses } from './routes/responses.ts';
import { usage } from './routes/usage.ts';
import { videoCreation, videos } from './routes/videos.ts';

/** Endpoints that cost money: POST, each at one path. */
export const BILLED_ROUTES: readonly BilledRoute[] = [chatCompletions, messages, embeddings, images, videoCreation, responses];

export function registerRoutes(app: FastifyInstance, deps: ServerDeps): void {
  for (const route of BILLED_ROUTES) app.post(route.path, billed(deps, route));
  for (const register of [countTokens, videos, models, key, usage, pricing]) register(app, deps);
}
