/** POST /v1/images/generations: OpenAI's shape, priced per image. */
import { readImages } from '../../pipeline/endpoints/images.ts';
import type { BilledRoute } from '../billed.ts';
import { PATHS } from '../paths.ts';

export const images: BilledRoute = { path: PATHS.images.path, endpoint: 'images', read: readImages };
