/** Whether the server answers, as whatever was asked last found out. */
import { ref } from "vue";
import { whenAnswered } from "../api/http";

export const isAway = ref(false);

whenAnswered((isThere) => (isAway.value = !isThere));
