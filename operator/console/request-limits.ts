/** What a request to the console may take, with TLS and without. */
export const REQUEST_LIMITS = { headersTimeout: 30_000, requestTimeout: 60_000, maxHeaderSize: 32 * 1024 } as const;
