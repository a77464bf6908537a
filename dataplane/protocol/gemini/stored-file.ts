/** Addresses of files that the Gemini API stores. They belong to the gateway's account, which all keys share. */

const HOST = /^(?:[a-z0-9-]+\.)*generativelanguage\.(?:[a-z0-9-]+\.)*googleapis\.com\.?$/;

/** Whether Google reads an address with the gateway's own account: only those of its Gemini API, and no address at all. */
export function isStoredFile(url: string): boolean {
  return !URL.canParse(url) || HOST.test(new URL(url).hostname);
}
