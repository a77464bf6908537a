/** Every route in one place; each file in routes/ is one endpoint. */
import type { FastifyInstance } from 'fastify';
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
import { videos } from './routes/videos.ts';

export function registerRoutes(app: FastifyInstance, deps: ServerDeps): void {
  for (const register of [chatCompletions, messages, countTokens, embeddings, images, videos, responses, models, key, usage, pricing]) register(app, deps);
}
