/** OpenAI's endpoints besides chat completions. A channel may serve chats alone. */
import { compactionConverter } from './compaction.ts';
import { completionsConverter } from './completions.ts';
import { conversations } from './conversations.ts';
import { embeddingsConverter } from './embeddings.ts';
import { imageEditsConverter, imagesConverter, imageVariationsConverter } from './images.ts';
import { moderationsConverter } from './moderations.ts';
import { rerankConverter } from './rerank.ts';
import { responseJobs, responsesConverter } from './responses.ts';
import { speechConverter } from './speech.ts';
import { transcriptionsConverter, translationsConverter } from './transcriptions.ts';
import { videoJobs } from './videos.ts';

export const openaiEndpoints = {
  completions: completionsConverter,
  embeddings: embeddingsConverter,
  images: imagesConverter,
  imageEdits: imageEditsConverter,
  imageVariations: imageVariationsConverter,
  moderations: moderationsConverter,
  rerank: rerankConverter,
  videos: videoJobs,
  speech: speechConverter,
  transcriptions: transcriptionsConverter,
  translations: translationsConverter,
  // for channels whose provider serves Responses itself
  responses: responsesConverter,
  /** Responses that the provider makes in the background. */
  responseJobs,
  compaction: compactionConverter,
  conversations,
};

export type OpenAIEndpoints = typeof openaiEndpoints;
