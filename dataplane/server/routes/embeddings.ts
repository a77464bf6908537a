/** POST /v1/embeddings: OpenAI's shape, on channels of its protocol. */
import { readEmbeddings } from '../../pipeline/endpoints/embeddings.ts';
import type { BilledRoute } from '../billed.ts';
import { PATHS } from '../paths.ts';

export const embeddings: BilledRoute = { path: PATHS.embeddings.path, endpoint: 'embeddings', read: readEmbeddings };
