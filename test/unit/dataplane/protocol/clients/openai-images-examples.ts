/** An example for each field of requests for images that the gateway reads. */
import * as tables from '../../../../../dataplane/protocol/clients/openai-images/table.ts';
import type { Examples } from '../field-examples.ts';

const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';

export const OPENAI_IMAGES: readonly Examples[] = [
  {
    table: tables.REQUEST,
    base: { prompt: 'a cat' },
    place: (request) => request,
    unseen: ['model', 'stream'],
    values: {
      model: 'x',
      prompt: 'a dog',
      image: PICTURE,
      'image[]': [PICTURE],
      images: [{ image_url: PICTURE }],
      size: '1024x1536',
      stream: true,
      user: 'u',
      partial_images: 2,
      quality: 'high',
      style: 'vivid',
      moderation: 'low',
      input_fidelity: 'high',
      output_format: 'webp',
      output_compression: 50,
      n: 2,
      background: 'transparent',
      mask: PICTURE,
      response_format: 'url',
    },
  },
  {
    table: tables.PICTURE,
    base: {},
    place: (picture) => ({ prompt: 'a cat', images: [picture] }),
    values: { image_url: PICTURE, file_id: 'file-1' },
  },
];
