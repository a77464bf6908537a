/**
 * Gemini's own API: the Gemini API with a key, and Vertex AI. The base URL is the host; the path begins with /v1beta.
 * Its own dialect passes through.
 */
import { decodeUtf8 } from '../bytes.ts';
import { anthropicClient } from '../clients/anthropic/client.ts';
import { openaiChatClient } from '../clients/openai-chat/client.ts';
import { openaiImagesClient } from '../clients/openai-images/client.ts';
import { responsesClient } from '../clients/responses/client.ts';
import { conversion, countConversion } from '../conversion.ts';
import type { Converter } from '../converter.ts';
import { embeddingsOnGemini } from '../embeddings-on-gemini.ts';
import { imagesOnImagen } from '../images-on-imagen.ts';
import { parseEventData } from '../json-value.ts';
import type { OpenAIEndpoints } from '../openai/endpoints.ts';
import { readFormWithFiles } from '../openai/form-fields.ts';
import { geminiChat } from '../providers/gemini/chat.ts';
import { batchEmbedContents, embedContent } from '../providers/gemini/embed-passthrough.ts';
import { countPassthrough, geminiPassthrough } from '../providers/gemini/passthrough.ts';
import { predict } from '../providers/gemini/predict-passthrough.ts';
import type { Provider, TokenCounter } from '../provider.ts';
import { readTokenCount } from '../usage.ts';
import { readGeminiError } from './errors.ts';

const anthropicToGemini = conversion(anthropicClient, geminiChat);

const tokenCounter: TokenCounter = {
  request: countConversion(anthropicClient, geminiChat),
  read: (body) => readTokenCount(parseEventData(decodeUtf8(body))?.['totalTokens']),
};

const images = limited(conversion(openaiImagesClient('image_generation'), geminiChat));

/** A form's files become pictures of the prompt. */
const imageEdits: OpenAIEndpoints['imageEdits'] = (form) => {
  const read = form === undefined ? undefined : (body: Uint8Array) => readFormWithFiles(body, form);
  return limited(conversion(openaiImagesClient('image_edit'), geminiChat, read));
};

/** The output limit bounds the tokens of images too. A model whose route states none gets none. */
function limited(converter: Converter): Converter {
  return {
    ...converter,
    limitsOutput: true,
    request: (body, parsed, plan) =>
      converter.request(body, parsed, plan.maxOutputTokens === 0 ? { ...plan, maxOutputTokens: undefined } : plan),
  };
}

export const gemini: Provider = {
  chat: {
    OpenAI: conversion(openaiChatClient, geminiChat),
    Anthropic: anthropicToGemini,
    Responses: conversion(responsesClient, geminiChat),
    Gemini: geminiPassthrough,
  },
  endpoints: { embeddings: embeddingsOnGemini, images, imageEdits },
  imagen: imagesOnImagen,
  geminiEndpoints: { embedContent, batchEmbedContents, predict },
  tokenCounters: {
    Anthropic: tokenCounter,
    Gemini: { ...tokenCounter, request: countPassthrough },
  },
  credential: (apiKey) => ['x-goog-api-key', apiKey],
  defaultHeaders: {},
  clientHeaders: [],
  readError: readGeminiError,
};
