/** Something that is done on demand, and said when it is: what came of it appears as a short message. */
import { ref, type Ref } from "vue";
import { tell } from "./toasts";

export interface Attempting {
  isBusy: Ref<boolean>;
  attempt: (act: () => Promise<unknown>, done: string) => Promise<boolean>;
}

export function attempting(): Attempting {
  const isBusy = ref(false);
  async function attempt(act: () => Promise<unknown>, done: string): Promise<boolean> {
    isBusy.value = true;
    try {
      await act();
      tell(done);
      return true;
    } catch (failure) {
      tell((failure as Error).message, "failed");
      return false;
    } finally {
      isBusy.value = false;
    }
  }
  return { isBusy, attempt };
}
