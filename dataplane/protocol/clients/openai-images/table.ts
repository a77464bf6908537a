/**
 * What is read of requests for images, and written of what the model makes. docs/reference/protocols is generated from
 * these tables.
 */
import { converted, dropped, kindTable, objectTable, omitted, refused } from '../../field-table.ts';
import type { ConvertedFields } from '../../field-table.ts';
import type { Says } from '../client.ts';

const OWN_FORMAT = 'the provider chooses the format of its pictures';

export const REQUEST = objectTable('Request', {
  model: converted("the model's name at the provider"),
  prompt: converted('the text of a turn of the user'),
  image: converted('pictures after the prompt: files of a form, data URLs or URLs'),
  'image[]': converted('pictures after the prompt, of a form'),
  images: converted('pictures after the prompt, each with an `image_url`'),
  size: converted('the shape and the resolution: `1536x1024` is 3:2 at 1K; `1K`, `2K` and `4K` are taken too'),
  stream: converted('whether the response streams; the picture comes in one event'),
  user: converted('the user'),
  partial_images: omitted('there are no partial images', [0]),
  quality: omitted('there is no such setting', ['auto']),
  style: omitted('there is no such setting'),
  moderation: dropped('the provider moderates by its own rules'),
  input_fidelity: omitted('there is no such setting'),
  output_format: omitted(OWN_FORMAT),
  output_compression: omitted(OWN_FORMAT),
  n: refused('a call makes one image: send a call for each', [1]),
  background: refused('pictures have a background', ['auto', 'opaque']),
  mask: refused('there are no masks: say in the prompt what shall change'),
  response_format: refused('pictures come as data, `b64_json`', ['b64_json']),
});

export type ImageRequest = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

export const PICTURE = objectTable('Pictures', {
  image_url: converted('a data URL or a URL'),
  file_id: refused('the file is kept at another provider'),
});

export const RESPONSE_PARTS = kindTable('Response', {
  Image: converted('`b64_json` of an entry of `data`, or an event `…completed`'),
  Refusal: converted('`refusal`, beside `data` without an entry'),
  Text: dropped('images have no text'),
  Reasoning: dropped('images have no reasoning'),
  ToolCall: dropped('there are no tools'),
});

/** What of a conversation the dialect has words for. */
export const SAYS: Says = {
  settings: ['modalities', 'imageConfig', 'user'],
  parts: ['Text', 'Image'],
  tools: [],
};

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [REQUEST, PICTURE];
export const RESPONSE_TABLES = [RESPONSE_PARTS];
